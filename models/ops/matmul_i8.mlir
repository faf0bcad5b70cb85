// int8 matrix product with 32-bit sums.
func.func @main(%lhs: tensor<24x64xi8>, %rhs: tensor<64x40xi8>) -> tensor<24x40xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<24x40xi32>
  %sums = linalg.fill ins(%zero : i32) outs(%empty : tensor<24x40xi32>) -> tensor<24x40xi32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<24x64xi8>, tensor<64x40xi8>)
      outs(%sums : tensor<24x40xi32>) -> tensor<24x40xi32>
  return %product : tensor<24x40xi32>
}
