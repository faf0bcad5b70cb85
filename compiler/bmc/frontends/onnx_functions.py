"""Replaces ops that IREE's importer does not know by the functions with which the standard defines them."""

from __future__ import annotations

from typing import Any

from bmc.frontends.onnx_graph import nodes_within

_OPS = frozenset({"AffineGrid", "Attention", "CenterCropPad", "RotaryEmbedding", "SwiGLU", "Swish"})
_STANDARD = ("", "ai.onnx")
# The domain of functions while they are inlined.
_DOMAIN = "defined"


def expanded(model: Any) -> Any:
    """Returns the ModelProto, whose inputs must have types, with the functions in place of such ops."""
    from onnx import inliner, shape_inference

    if not any(_is_defined(node) for node in nodes_within(model.graph.node)):
        return model
    model = shape_inference.infer_shapes(model, data_prop=True)
    values = (*model.graph.input, *model.graph.value_info, *model.graph.output)
    types = {value.name: value.type for value in values}
    types |= {tensor.name: _type(tensor) for tensor in model.graph.initializer}
    for node in nodes_within(model.graph.node):
        if _is_defined(node):
            _define(model, node, types)
    model.opset_import.add(domain=_DOMAIN, version=1)
    return inliner.inline_local_functions(model)


def _is_defined(node: Any) -> bool:
    return node.domain in _STANDARD and node.op_type in _OPS


def _define(model: Any, node: Any, types: dict[str, Any]) -> None:
    """Adds the op's function to the model, and makes the node a call of it, if the types of its inputs are known."""
    import onnx

    version = max(each.version for each in model.opset_import if each.domain in _STANDARD)
    schema = onnx.defs.get_schema(node.op_type, version, "")
    if not all(name in types for name in node.input if name):
        return  # It is in a branch or body, of which no shapes are inferred.
    if schema.has_context_dependent_function:
        given = [types[name].SerializeToString() if name else b"" for name in node.input]
        data = schema.get_context_dependent_function(node.SerializeToString(), given)
        function = onnx.FunctionProto.FromString(data)
    else:
        function = onnx.FunctionProto()
        function.CopyFrom(schema.function_body)
        present = {attribute.name for attribute in node.attribute}
        usual = (schema.attributes[name].default_value for name in set(schema.attributes) - present)
        node.attribute.extend(sorted((a for a in usual if a.name), key=lambda a: a.name))
    function.domain, function.name = _DOMAIN, f"{node.op_type}_{len(model.functions)}"
    node.domain, node.op_type = function.domain, function.name
    model.functions.append(function)


def _type(tensor: Any) -> Any:
    from onnx import helper

    return helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
