// The two words that the host finds by name in the ELF's symbol table. QEMU
// requires 8 bytes for each and puts a device over both, so they have their own
// page.

  .section .bss.bm_htif, "aw", @nobits
  .balign 4096
  .globl tohost
  .type tohost, @object
tohost:
  .skip 8
  .size tohost, 8
  .globl fromhost
  .type fromhost, @object
fromhost:
  .skip 8
  .size fromhost, 8
  .balign 4096
