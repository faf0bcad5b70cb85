# The boot check reads vector CSRs in code that is compiled without the vector extension.
  .globl vector_bytes
vector_bytes:
  csrr a0, vlenb
  ret

  .globl whole_vector_length
whole_vector_length:
  .option push
  .option arch, +v
  vsetvli a0, zero, e8, m1, ta, ma
  .option pop
  ret
