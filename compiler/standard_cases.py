"""The six standard mappings that the array is checked with: row-stationary convolutions, 3 x 3, stride 1."""

# name: F (output columns of a pass), then the mapping
STANDARD_CASES: dict[str, tuple[int, dict[str, int]]] = {
    "array0": (16, dict(e=8, p=4, q=4, r=1, t=2)),
    "array1": (32, dict(e=8, p=4, q=3, r=1, t=2)),
    "array2": (16, dict(e=8, p=4, q=4, r=2, t=1)),
    "array3": (16, dict(e=4, p=4, q=4, r=2, t=2)),
    "array4": (16, dict(e=4, p=4, q=4, r=1, t=4)),
    "array5": (16, dict(e=16, p=4, q=4, r=1, t=1)),
}
