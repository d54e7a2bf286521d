"""What MSD ships: `capabilities/<id>/` as data, and `_registry`, the module frozen from them at release."""
