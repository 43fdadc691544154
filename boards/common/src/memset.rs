//! A small `memset`. The ones that come with Rust, one for each alignment with a number and
//! without, take 1.1 kB of flash together. A probe fills memory when it starts and when it forgets
//! something.

use core::arch::global_asm;

// By the ABI of Arm: r0 is where, r1 how many bytes, r2 the byte; nothing is returned, and r0 to r3
// are free. In instructions that every Cortex-M has. In assembly, because a compiler makes a call
// of `memset` of such a loop.
global_asm!(
    ".section .text.memset, \"ax\"",
    ".global __aeabi_memclr, __aeabi_memclr4, __aeabi_memclr8",
    ".global __aeabi_memset, __aeabi_memset4, __aeabi_memset8",
    ".type __aeabi_memclr, %function",
    ".type __aeabi_memclr4, %function",
    ".type __aeabi_memclr8, %function",
    ".type __aeabi_memset, %function",
    ".type __aeabi_memset4, %function",
    ".type __aeabi_memset8, %function",
    ".thumb_func",
    "__aeabi_memclr:",
    ".thumb_func",
    "__aeabi_memclr4:",
    ".thumb_func",
    "__aeabi_memclr8:",
    "movs r2, #0",
    ".thumb_func",
    "__aeabi_memset:",
    ".thumb_func",
    "__aeabi_memset4:",
    ".thumb_func",
    "__aeabi_memset8:",
    // The byte in all four places of a word.
    "uxtb r2, r2",
    "lsls r3, r2, #8",
    "orrs r2, r3",
    "lsls r3, r2, #16",
    "orrs r2, r3",
    // Bytes up to the first whole word.
    "1: lsls r3, r0, #30",
    "beq 2f",
    "subs r1, #1",
    "bcc 5f",
    "strb r2, [r0]",
    "adds r0, #1",
    "b 1b",
    "2: subs r1, #4",
    "bcc 3f",
    "stmia r0!, {{r2}}",
    "b 2b",
    // Bytes after the last whole word.
    "3: adds r1, #4",
    "4: subs r1, #1",
    "bcc 5f",
    "strb r2, [r0]",
    "adds r0, #1",
    "b 4b",
    "5: bx lr",
);
