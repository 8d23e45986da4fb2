"""Laws of control: callables (t, q, v) → tau (nv,), of numbers or traced scalars."""
