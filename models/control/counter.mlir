// Adds its inputs up across calls.
util.global private mutable @total = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %old = util.global.load @total : tensor<4xf32>
  %new = stablehlo.add %old, %x : tensor<4xf32>
  util.global.store %new, @total : tensor<4xf32>
  return %old : tensor<4xf32>
}
