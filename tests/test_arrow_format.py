"""Every format string of the Arrow C data interface, written out by hand from the specification."""

import pytest

from buflend.shared.arrow_format import Layout, parse_format
from buflend.shared.interchange import DtypeKind as Kind

FIXED = ("validity", "data")
TEXT = ("validity", "offsets", "data")
LIST = ("validity", "offsets")

# Format -> kind, bits of an element, buffers, bits of an offset, children, variadic, parameter.
FORMATS = {
    "n": (Kind.NULL, 0, (), 0, 0, False, 0),
    "b": (Kind.BOOL, 1, FIXED, 0, 0, False, 0),
    "c": (Kind.INT, 8, FIXED, 0, 0, False, 0),
    "C": (Kind.UINT, 8, FIXED, 0, 0, False, 0),
    "s": (Kind.INT, 16, FIXED, 0, 0, False, 0),
    "S": (Kind.UINT, 16, FIXED, 0, 0, False, 0),
    "i": (Kind.INT, 32, FIXED, 0, 0, False, 0),
    "I": (Kind.UINT, 32, FIXED, 0, 0, False, 0),
    "l": (Kind.INT, 64, FIXED, 0, 0, False, 0),
    "L": (Kind.UINT, 64, FIXED, 0, 0, False, 0),
    "e": (Kind.FLOAT, 16, FIXED, 0, 0, False, 0),
    "f": (Kind.FLOAT, 32, FIXED, 0, 0, False, 0),
    "g": (Kind.FLOAT, 64, FIXED, 0, 0, False, 0),
    "z": (Kind.BINARY, 8, TEXT, 32, 0, False, 0),
    "Z": (Kind.BINARY, 8, TEXT, 64, 0, False, 0),
    "vz": (Kind.BINARY, 128, FIXED, 0, 0, True, 0),
    "u": (Kind.STRING, 8, TEXT, 32, 0, False, 0),
    "U": (Kind.STRING, 8, TEXT, 64, 0, False, 0),
    "vu": (Kind.STRING, 128, FIXED, 0, 0, True, 0),
    "d:19,10": (Kind.DECIMAL, 128, FIXED, 0, 0, False, 19),
    "d:19,10,128": (Kind.DECIMAL, 128, FIXED, 0, 0, False, 19),
    "d:9,-3,32": (Kind.DECIMAL, 32, FIXED, 0, 0, False, 9),
    "d:18,0,64": (Kind.DECIMAL, 64, FIXED, 0, 0, False, 18),
    "d:76,38,256": (Kind.DECIMAL, 256, FIXED, 0, 0, False, 76),
    "w:42": (Kind.BINARY, 336, FIXED, 0, 0, False, 42),
    "w:0": (Kind.BINARY, 0, FIXED, 0, 0, False, 0),
    "tdD": (Kind.DATETIME, 32, FIXED, 0, 0, False, 0),
    "tdm": (Kind.DATETIME, 64, FIXED, 0, 0, False, 0),
    "tts": (Kind.DATETIME, 32, FIXED, 0, 0, False, 0),
    "ttm": (Kind.DATETIME, 32, FIXED, 0, 0, False, 0),
    "ttu": (Kind.DATETIME, 64, FIXED, 0, 0, False, 0),
    "ttn": (Kind.DATETIME, 64, FIXED, 0, 0, False, 0),
    "tss:": (Kind.DATETIME, 64, FIXED, 0, 0, False, 0),
    "tsm:UTC": (Kind.DATETIME, 64, FIXED, 0, 0, False, 0),
    "tsu:+01:30": (Kind.DATETIME, 64, FIXED, 0, 0, False, 0),
    "tsn:America/New_York": (Kind.DATETIME, 64, FIXED, 0, 0, False, 0),
    "tDs": (Kind.DATETIME, 64, FIXED, 0, 0, False, 0),
    "tDm": (Kind.DATETIME, 64, FIXED, 0, 0, False, 0),
    "tDu": (Kind.DATETIME, 64, FIXED, 0, 0, False, 0),
    "tDn": (Kind.DATETIME, 64, FIXED, 0, 0, False, 0),
    "tiM": (Kind.INTERVAL, 32, FIXED, 0, 0, False, 0),
    "tiD": (Kind.INTERVAL, 64, FIXED, 0, 0, False, 0),
    "tin": (Kind.INTERVAL, 128, FIXED, 0, 0, False, 0),
    "+l": (Kind.LIST, 0, LIST, 32, 1, False, 0),
    "+L": (Kind.LIST, 0, LIST, 64, 1, False, 0),
    "+vl": (Kind.LIST, 0, ("validity", "offsets", "sizes"), 32, 1, False, 0),
    "+vL": (Kind.LIST, 0, ("validity", "offsets", "sizes"), 64, 1, False, 0),
    "+w:123": (Kind.LIST, 0, ("validity",), 0, 1, False, 123),
    "+w:0": (Kind.LIST, 0, ("validity",), 0, 1, False, 0),
    "+s": (Kind.STRUCT, 0, ("validity",), 0, None, False, 0),
    "+m": (Kind.MAP, 0, LIST, 32, 1, False, 0),
    "+ud:0,5": (Kind.UNION, 0, ("type_ids", "offsets"), 32, 2, False, 0),
    "+us:3,1,127": (Kind.UNION, 0, ("type_ids",), 0, 3, False, 0),
    "+us:": (Kind.UNION, 0, ("type_ids",), 0, 0, False, 0),
    "+ud:": (Kind.UNION, 0, ("type_ids", "offsets"), 32, 0, False, 0),
    "+r": (Kind.RUN_END, 0, (), 0, 2, False, 0),
}


@pytest.mark.parametrize("text", FORMATS)
def test_every_format(text: str) -> None:
    assert parse_format(text) == Layout(*FORMATS[text])


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "N", "ll", "l ", " l", "1", "+", "+x", "v", "vl", "+v", "+vz", "t", "td", "tdd", "tdX", "tt", "ttx"),
        *(
            "ts",
            "tss",
            "tsn",
            "tsx:",
            "tD",
            "tDx",
            "ti",
            "tim",
            "n:",
            "l:",
            "u:3",
            "+s:",
            "+s:2",
            "+l:",
            "+r:1",
            "tdD:",
        ),
        *(
            "w",
            "w:",
            "w:-1",
            "w:1,2",
            "w:x",
            "w: 1",
            "w:1_0",
            "w:+1",
            "w:1.0",
            "w:\u0663",
            f"w:{2**31}",
            "w:" + "9" * 99,
        ),
        *("+w", "+w:", "+w:-1", "+w:1,2", "+w:x", f"+w:{2**31}"),
        *("d", "d:", "d:5", "d:5,", "d:,5", "d:0,0", "d:-1,0", "d:39,0", "d:39,0,128", "d:77,0,256", "d:10,0,32"),
        *("d:19,0,64", "d:5,2,16", "d:5,2,0", "d:5,2,-32", "d:5,2,128,1", "d:5;2", "D:5,2"),
        *("+u", "+us", "+ud", "+ux:0", "+u:0", "+us:0,", "+us:,", "+us:-1", "+us:128", "+us:0,0", "+ud:1,2,1", "+ud:a"),
    ],
)
def test_what_is_no_format_is_refused(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_format(text)
    assert repr(text) in str(caught.value)


def test_buffers_bits_and_offsets_go_together() -> None:
    for text in FORMATS:
        layout = parse_format(text)
        assert ("offsets" in layout.buffers) == bool(layout.offset_bits), text
        assert layout.buffers[:1] in {("validity",), ("type_ids",), ()}, text
        if "data" not in layout.buffers:
            assert layout.bits == 0, text
