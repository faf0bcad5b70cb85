// Selects one of two matrices by the sign of the sum of x.
func.func @main(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %left = stablehlo.constant dense<0.5> : tensor<8x8xf32>
  %right = stablehlo.constant dense<-0.25> : tensor<8x8xf32>
  %s = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<1x8xf32>, tensor<f32>) -> tensor<f32>
  %positive = stablehlo.compare GT, %s, %init : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %r = "stablehlo.if"(%positive) ({
    %a = stablehlo.dot %x, %left : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
    stablehlo.return %a : tensor<1x8xf32>
  }, {
    %b = stablehlo.dot %x, %right : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
    stablehlo.return %b : tensor<1x8xf32>
  }) : (tensor<i1>) -> tensor<1x8xf32>
  return %r : tensor<1x8xf32>
}
