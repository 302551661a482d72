"""Makes `python -m posenc` the same as `posenc`."""

from posenc.cli import main

if __name__ == "__main__":
    main()
