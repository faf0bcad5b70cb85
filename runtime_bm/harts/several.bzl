"""What only images for several harts can have."""

# For target_compatible_with.
SEVERAL_HARTS = select({
    "//runtime_bm/harts:one": ["@platforms//:incompatible"],
    "//conditions:default": [],
})
