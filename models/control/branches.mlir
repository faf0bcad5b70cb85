// Goes three times through one of four branches, whose numbers are i, i + 1 and i + 2. The last one stands for all others.
func.func @main(%i: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%n = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %more = stablehlo.compare LT, %n, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %number = stablehlo.add %i, %n : tensor<i32>
      %chosen = "stablehlo.case"(%number) ({
        %a = stablehlo.add %v, %x : tensor<4xf32>
        stablehlo.return %a : tensor<4xf32>
      }, {
        %a = stablehlo.multiply %v, %x : tensor<4xf32>
        stablehlo.return %a : tensor<4xf32>
      }, {
        %a = stablehlo.subtract %x, %v : tensor<4xf32>
        stablehlo.return %a : tensor<4xf32>
      }, {
        %a = stablehlo.maximum %v, %x : tensor<4xf32>
        %b = stablehlo.negate %a : tensor<4xf32>
        stablehlo.return %b : tensor<4xf32>
      }) : (tensor<i32>) -> tensor<4xf32>
      %next = stablehlo.add %n, %one : tensor<i32>
      stablehlo.return %next, %chosen : tensor<i32>, tensor<4xf32>
    }
  return %r#1 : tensor<4xf32>
}
