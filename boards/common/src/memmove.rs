//! A small `memmove`. The one that comes with Rust moves a word at a time in any alignment and in
//! both directions, and takes 1.5 kB of flash for that. Towards lower addresses, which is how
//! buffers are emptied, Rust's `memcpy` does the same. Towards higher ones a probe moves bytes when
//! it inserts into a small table: some times a day.

use core::arch::global_asm;

// By the ABI: r0 is where to, r1 where from, r2 how many, and r0 is left as it is. In instructions
// that every Cortex-M has. In assembly, because a compiler makes a call of `memmove` of such a
// loop.
//
// Rust's `memcpy` copies from the first byte to the last, as its `memmove` does unless the target
// begins within the source.
global_asm!(
    ".section .text.memmove, \"ax\"",
    ".global memmove, __aeabi_memmove, __aeabi_memmove4, __aeabi_memmove8",
    ".type memmove, %function",
    ".type __aeabi_memmove, %function",
    ".type __aeabi_memmove4, %function",
    ".type __aeabi_memmove8, %function",
    ".thumb_func",
    "memmove:",
    ".thumb_func",
    "__aeabi_memmove:",
    ".thumb_func",
    "__aeabi_memmove4:",
    ".thumb_func",
    "__aeabi_memmove8:",
    "subs r3, r0, r1",
    "cmp r3, r2",
    "bcc 1f",
    "push {{r4, lr}}",
    "bl memcpy",
    "pop {{r4, pc}}",
    // What begins within the source is moved from its end, or it would overwrite itself.
    "1: subs r2, #1",
    "bcc 2f",
    "ldrb r3, [r1, r2]",
    "strb r3, [r0, r2]",
    "b 1b",
    "2: bx lr",
);
