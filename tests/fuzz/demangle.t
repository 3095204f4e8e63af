#!/usr/bin/python3
"""Replays the demangler's fuzz target over real names, spliced and damaged."""
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))
from fuzz_replay import replay
from tap import Tap

NAMES = """
_Z3foov.isra.0.part.1.cold
_ZN12_GLOBAL__N_11fEPKcz
_ZNSt6vectorIiSaIiEE12emplace_backIJiEEERiDpOT_
_ZZ4mainENKUliE_clEi
_ZZZ4mainENKUlvE_clEvENKUlT_E_clIiEEDaS0_
_ZNKSt8functionIFvRKSsEEclES1_
_ZN5boost6detail17sp_counted_impl_pI3fooE7disposeEv
_ZTv0_n24_N3fooD0Ev
_ZThn16_N1a1b1cEPFvPKvmE
_ZGVZN1a1bEvE1c
_ZGRN1a1bE_
_ZNK1aIXadL_Z1fvEELi5ELb1EEcvT_IiEEv
_ZN1aIJiDpPT_EE1bIXsZT_EEEDTcl1fspfp_EEDpOT0_
_Z1fIiEDTplfp_Li1EET_
_Z1gIJidEEvDpRKT_
_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc
_ZN3c10L8dispatchIN2at6TensorEJRKS2_S4_dEEET_RKNS_8functionIFS5_DpT0_EEE
_ZlsRSo5debug
_Z1fDv4_fDF16_u6__int8DnDd
_ZW3foo1fv
_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.123
_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into17h0123456789abcdefE
_RNvC6_123foo3bar.llvm.99
_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std
_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y
_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8iterator8Iterator9rpositionNCNgNpB9_6memchr7memrchrs_0E0Bb_
_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDFG_RL0_hEuEBc_
_RINtC8arrayvec8ArrayVechKj7b_E
_RMCs4fqI2P2rA04_13const_genericINtB0_3BarKb1_E
_RNvYNtNtCs1_1a1b1cNtB2_1dE1e
_RINvC1a1bFUKCTcbEOSAjj2_Qe EuE
""".split()
ALPHABET = "_ZNRKSTILEJXDpOPFvijc0123456789abBCGMYsu.$"


def seeds():
    yield from NAMES
    for name in NAMES:
        for end in range(len(name)):
            yield name[:end]
    dice = random.Random(3)
    for _ in range(3000):
        name = dice.choice(NAMES)
        for _ in range(dice.randint(1, 5)):
            at = dice.randrange(len(name) + 1)
            other = dice.choice(NAMES)
            start = dice.randrange(len(other))
            part = other[start:start + dice.randint(1, 20)]
            name = dice.choice((
                name[:at] + name[at + 1:],
                name[:at] + dice.choice(ALPHABET) + name[at + 1:],
                name[:at] + part + name[at:],
                name[:at] + name[at // 2:at] * dice.randint(1, 4) + name[at:],
            ))[:5000]
        yield name


def main():
    tap = Tap()
    good, said = replay("fuzz_demangle", (name.encode() for name in seeds()))
    tap.ok(good, "damaged names are demangled within bounds or left", said)
    tap.finish()


main()
