"""The dot unit in a LiteX system: its registers on the bus, and its way to the weights."""

from __future__ import annotations

from pathlib import Path

from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect import wishbone
from migen import ClockSignal, Instance, ResetSignal

_VERILOG = Path(__file__).parent / "dot_unit.v"
_REGISTER_BYTES = 4096


def add_to(soc: SoCCore, name: str, stuck: int = 0) -> None:
    """Adds the unit. Bits that are set in `stuck` are zero in all weights, as if their wires were broken."""
    registers, weights = wishbone.Interface(), wishbone.Interface()
    soc.comb += [weights.stb.eq(weights.cyc), weights.sel.eq(0b1111)]
    soc.specials += Instance(
        "dot_unit",
        i_clk=ClockSignal(),
        i_rst=ResetSignal(),
        i_s_cyc=registers.cyc,
        i_s_stb=registers.stb,
        i_s_we=registers.we,
        i_s_adr=registers.adr[:10],
        i_s_dat_w=registers.dat_w,
        o_s_dat_r=registers.dat_r,
        o_s_ack=registers.ack,
        o_m_cyc=weights.cyc,
        o_m_adr=weights.adr,
        i_m_dat_r=weights.dat_r & (0xFFFFFFFF & ~stuck),
        i_m_ack=weights.ack,
    )
    soc.bus.add_slave(name, registers, SoCRegion(size=_REGISTER_BYTES, cached=False))
    soc.bus.add_master(name, weights)
    soc.platform.add_source(str(_VERILOG))
