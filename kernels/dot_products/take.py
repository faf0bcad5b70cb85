import logging, sys
from bmc.libraries import Call, Dispatch
def take(d: Dispatch) -> Call | None:
    if d.a.dtype != "i8": return None
    print("DISPATCH", d.name, [(l.extent, l.is_summed) for l in d.loops], file=sys.stderr)
    for i,o in enumerate(d.operands): print("   op", i, o.dtype, o.steps, o.binding, o.offset, None if o.values is None else o.values.shape, file=sys.stderr)
    print("   init", d.initial and d.operands.index(d.initial), d.windows, d.padding and [(e.low,e.extent,e.steps) for e in d.padding.edges], d.padding and d.padding.value, file=sys.stderr)
    for i,n in enumerate(d.epilogue): print("   ", i, n, file=sys.stderr)
    return None
