"""Constants of sine and cosine that several backends write into their code."""

from __future__ import annotations

# π/2 in three pieces, each the remainder of the previous ones, rounded
HALF_PI = {
    "double": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
    "float": (1.57079637050628662109375, -4.37113882867379115e-8, -1.71512451613857e-15),
}
# |x| up to which the fast reduction is used
FAST_LIMIT = {"double": 2.0**30, "float": 131072.0}
# minimax polynomials on |r| ≤ π/4, highest power first: sin r = r + r³ S(r²), cos r = C(r²)
SIN = {
    "double": (
        1.58962301572218447952e-10,
        -2.50507477628503540135e-08,
        2.75573136213856773549e-06,
        -1.98412698295895384658e-04,
        8.33333333332211858862e-03,
        -1.66666666666666307295e-01,
    ),
    "float": (2.86567956e-6, -1.98559923e-4, 8.33338592e-3, -1.66666672e-1),
}
COS = {
    "double": (
        -1.13585365213876817300e-11,
        2.08757008419747316778e-09,
        -2.75573141792967388112e-07,
        2.48015872888517045348e-05,
        -1.38888888888730564116e-03,
        4.16666666666665929218e-02,
        -0.5,
        1.0,
    ),
    "float": (2.44677067e-5, -1.38877297e-3, 4.16666567e-2, -0.5, 1.0),
}
