import numpy as np
import torch

from bmc.spec import ModelSpec, Tolerance


def first() -> ModelSpec:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    example = np.ones((1, 16), np.float32)
    return ModelSpec(
        module=module.eval(),
        cases=((example,),),
        tolerance=Tolerance(atol=1e-5, rtol=1e-5),
    )
