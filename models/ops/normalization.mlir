// As TensorFlow writes a layer normalization: x * s + (beta - mean * s).
func.func @main(%x: tensor<4x12xf32>) -> tensor<4x12xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %count = stablehlo.constant dense<12.0> : tensor<4xf32>
  %epsilon = stablehlo.constant dense<1.0e-3> : tensor<4xf32>
  %beta = stablehlo.constant dense<[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1]> : tensor<12xf32>
  %gamma = stablehlo.constant dense<[1.0, -0.1, 0.2, -0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.5, 1.1]> : tensor<12xf32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<4x12xf32>, tensor<f32>) -> tensor<4xf32>
  %mean = stablehlo.divide %sum, %count : tensor<4xf32>
  %means = stablehlo.broadcast_in_dim %mean, dims = [0] : (tensor<4xf32>) -> tensor<4x12xf32>
  %centered = stablehlo.subtract %x, %means : tensor<4x12xf32>
  %squares = stablehlo.multiply %centered, %centered : tensor<4x12xf32>
  %squared = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<4x12xf32>, tensor<f32>) -> tensor<4xf32>
  %variance = stablehlo.divide %squared, %count : tensor<4xf32>
  %more = stablehlo.add %variance, %epsilon : tensor<4xf32>
  %root = stablehlo.rsqrt %more : tensor<4xf32>
  %roots = stablehlo.broadcast_in_dim %root, dims = [0] : (tensor<4xf32>) -> tensor<4x12xf32>
  %gammas = stablehlo.broadcast_in_dim %gamma, dims = [1] : (tensor<12xf32>) -> tensor<4x12xf32>
  %betas = stablehlo.broadcast_in_dim %beta, dims = [1] : (tensor<12xf32>) -> tensor<4x12xf32>
  %scale = stablehlo.multiply %roots, %gammas : tensor<4x12xf32>
  %scaled = stablehlo.multiply %x, %scale : tensor<4x12xf32>
  %offset = stablehlo.multiply %means, %scale : tensor<4x12xf32>
  %rest = stablehlo.subtract %betas, %offset : tensor<4x12xf32>
  %y = stablehlo.add %scaled, %rest : tensor<4x12xf32>
  return %y : tensor<4x12xf32>
}
