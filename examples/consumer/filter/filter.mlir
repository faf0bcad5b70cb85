// The mean of every four neighbouring samples.
func.func @main(%samples: tensor<1x64xf32>) -> tensor<1x61xf32> {
  %a = stablehlo.slice %samples [0:1, 0:61] : (tensor<1x64xf32>) -> tensor<1x61xf32>
  %b = stablehlo.slice %samples [0:1, 1:62] : (tensor<1x64xf32>) -> tensor<1x61xf32>
  %c = stablehlo.slice %samples [0:1, 2:63] : (tensor<1x64xf32>) -> tensor<1x61xf32>
  %d = stablehlo.slice %samples [0:1, 3:64] : (tensor<1x64xf32>) -> tensor<1x61xf32>
  %ab = stablehlo.add %a, %b : tensor<1x61xf32>
  %cd = stablehlo.add %c, %d : tensor<1x61xf32>
  %sum = stablehlo.add %ab, %cd : tensor<1x61xf32>
  %quarter = stablehlo.constant dense<0.25> : tensor<1x61xf32>
  %mean = stablehlo.multiply %sum, %quarter : tensor<1x61xf32>
  return %mean : tensor<1x61xf32>
}
