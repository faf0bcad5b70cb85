// Every row but the last moves down by one: IREE makes one copy of it that overlaps itself.
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %rows = stablehlo.slice %x [0:5, 0:8] : (tensor<6x8xf32>) -> tensor<5x8xf32>
  %y = stablehlo.dynamic_update_slice %x, %rows, %one, %zero
      : (tensor<6x8xf32>, tensor<5x8xf32>, tensor<i32>, tensor<i32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
