"""Pictures in files."""

from __future__ import annotations

import io

import numpy as np
import pytest

from dalembert import DalembertError
from dalembert.pictures.files import png, write_picture


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (33, 20)])
def test_png_files_hold_the_picture(shape):
    from PIL import Image

    picture = np.random.default_rng(0).integers(0, 256, (*shape, 3)).astype(np.uint8)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(png(picture))).convert("RGB")), picture)
    assert png(picture) == png(picture.copy())


def test_endings(tmp_path):
    picture = np.zeros((4, 4, 3), np.uint8)
    for ending in ("png", "PNG", "jpg", "webp", "bmp"):
        write_picture(tmp_path / f"x.{ending}", picture)
        assert (tmp_path / f"x.{ending}").stat().st_size > 0
    with pytest.raises(DalembertError, match="unknown ending"):
        write_picture(tmp_path / "x", picture)
