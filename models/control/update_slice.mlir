// Writes a row at a place that the input gives; the host program reads the place back and clamps it.
func.func @main(%x: tensor<8x16xf32>, %row: tensor<1x16xf32>, %at: tensor<i32>) -> tensor<16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %weights = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %y = stablehlo.dynamic_update_slice %x, %row, %at, %zero
    : (tensor<8x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<8x16xf32>
  %r = stablehlo.dot_general %weights, %y, contracting_dims = [0] x [0]
    : (tensor<8xf32>, tensor<8x16xf32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
