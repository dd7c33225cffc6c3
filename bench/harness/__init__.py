# SPDX-License-Identifier: Apache-2.0
"""What bench/local is made of. Python's standard library only."""
