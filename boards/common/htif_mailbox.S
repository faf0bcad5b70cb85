// The two words the host looks for by name in the ELF's symbol table. QEMU
// wants them to be 8 bytes each and puts a device over both, so they have a
// page of their own.

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
