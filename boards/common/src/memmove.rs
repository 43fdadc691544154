//! A small `memmove`. The one that comes with Rust moves a word at a time in any alignment, and
//! takes 1.5 kB of flash for that. A probe moves bytes within a buffer when a redirect is forgotten,
//! a route or a neighbour: some times a day.

use core::arch::global_asm;

// By the ABI: r0 is where to, r1 where from, r2 how many, and r0 is left as it is. In instructions
// that every Cortex-M has. In assembly, because a compiler makes a call of `memmove` of such a loop.
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
    "push {{r4, lr}}",
    "movs r3, #0",
    "cmp r0, r1",
    // What goes to higher addresses is moved from its end, or it would overwrite itself.
    "bhi 2f",
    "1: cmp r3, r2",
    "beq 3f",
    "ldrb r4, [r1, r3]",
    "strb r4, [r0, r3]",
    "adds r3, #1",
    "b 1b",
    "2: subs r2, #1",
    "bcc 3f",
    "ldrb r4, [r1, r2]",
    "strb r4, [r0, r2]",
    "b 2b",
    "3: pop {{r4, pc}}",
);
