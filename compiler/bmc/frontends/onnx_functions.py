"""Replaces ops that IREE's importer does not know by the functions with which the standard defines them."""

from __future__ import annotations

from typing import Any

from bmc.frontends.onnx_graph import nodes_within

_STANDARD = ("", "ai.onnx")
_PREVIEW = "ai.onnx.preview"
_OPS = frozenset({
    "AffineGrid", "Attention", "CausalConvWithState", "CenterCropPad", "DepthToSpace", "LinearAttention",
    "RotaryEmbedding", "SoftmaxCrossEntropyLoss", "SpaceToDepth", "SwiGLU", "Swish",
})  # fmt: skip
_PREVIEW_OPS = frozenset({"FlexAttention"})
# The domain of functions while they are inlined.
_DOMAIN = "defined"


def expanded(model: Any) -> Any:
    """Returns the ModelProto, whose inputs must have types, with the functions in place of such ops."""
    from onnx import inliner, shape_inference

    # A function may consist of such ops too.
    while any(_function_of(model, node) for node in nodes_within(model.graph.node)):
        model = shape_inference.infer_shapes(model, data_prop=True)
        values = (*model.graph.input, *model.graph.value_info, *model.graph.output)
        types = {value.name: value.type for value in values}
        types |= {tensor.name: _type(tensor) for tensor in model.graph.initializer}
        for node in nodes_within(model.graph.node):
            if schema := _function_of(model, node):
                _define(model, node, schema, types)
        if not model.functions:
            return model  # All are in branches or bodies, of which no shapes are inferred.
        model.opset_import.add(domain=_DOMAIN, version=1)
        model = inliner.inline_local_functions(model)
        # onnxruntime, which folds constants, refuses domains that it does not know.
        kept = [each for each in model.opset_import if each.domain != _DOMAIN]
        del model.opset_import[:]
        model.opset_import.extend(kept)
    return model


def _function_of(model: Any, node: Any) -> Any:
    """Returns the schema of such an op, None if it is none, or no function in the opset of the model."""
    import onnx

    preview = node.domain == _PREVIEW and node.op_type in _PREVIEW_OPS
    if not preview and not (node.domain in _STANDARD and node.op_type in _OPS):
        return None
    domains = (_PREVIEW,) if preview else _STANDARD
    version = max(each.version for each in model.opset_import if each.domain in domains)
    schema = onnx.defs.get_schema(node.op_type, version, _PREVIEW if preview else "")
    is_function = schema.has_function or schema.has_context_dependent_function
    return schema if is_function else None


def _define(model: Any, node: Any, schema: Any, types: dict[str, Any]) -> None:
    """Adds the op's function to the model, and makes the node a call of it, if the types of its inputs are known."""
    import onnx

    if not all(name in types for name in node.input if name):
        return
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
    # The inliner keeps calls of functions that are of another opset than the model.
    del function.opset_import[:]
    function.opset_import.extend(model.opset_import)
    function.domain, function.name = _DOMAIN, f"{node.op_type}_{len(model.functions)}"
    node.domain, node.op_type = function.domain, function.name
    model.functions.append(function)


def _type(tensor: Any) -> Any:
    from onnx import helper

    return helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
