//! A small `memcpy`, for cores that read and write words at any address. The one that comes with
//! Rust is for those, too, that do not, and takes 0.7 kB of flash for that.

use core::arch::global_asm;

// By the ABI: r0 is where to, r1 where from, r2 how many, and r0 is left as it is. In assembly,
// because a compiler makes a call of `memcpy` of such a loop. From the first byte to the last:
// `memmove` relies on it.
global_asm!(
    ".section .text.memcpy, \"ax\"",
    ".global memcpy, __aeabi_memcpy, __aeabi_memcpy4, __aeabi_memcpy8",
    ".type memcpy, %function",
    ".type __aeabi_memcpy, %function",
    ".type __aeabi_memcpy4, %function",
    ".type __aeabi_memcpy8, %function",
    ".thumb_func",
    "memcpy:",
    ".thumb_func",
    "__aeabi_memcpy:",
    ".thumb_func",
    "__aeabi_memcpy4:",
    ".thumb_func",
    "__aeabi_memcpy8:",
    "mov r12, r0",
    // Four words at a time.
    "subs r2, #16",
    "bcc 2f",
    "1: ldr r3, [r1], #4",
    "str r3, [r12], #4",
    "ldr r3, [r1], #4",
    "str r3, [r12], #4",
    "ldr r3, [r1], #4",
    "str r3, [r12], #4",
    "ldr r3, [r1], #4",
    "str r3, [r12], #4",
    "subs r2, #16",
    "bcs 1b",
    // Words that are left.
    "2: adds r2, #12",
    "bcc 4f",
    "3: ldr r3, [r1], #4",
    "str r3, [r12], #4",
    "subs r2, #4",
    "bcs 3b",
    // Bytes that are left.
    "4: adds r2, #4",
    "beq 6f",
    "5: ldrb r3, [r1], #1",
    "strb r3, [r12], #1",
    "subs r2, #1",
    "bne 5b",
    "6: bx lr",
);
