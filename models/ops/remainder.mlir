// No framework here lowers its remainder to this op, which calls C's fmodf.
func.func @main(%x: tensor<8x33xf32>, %y: tensor<8x33xf32>) -> tensor<8x33xf32> {
  %0 = stablehlo.remainder %x, %y : tensor<8x33xf32>
  return %0 : tensor<8x33xf32>
}
