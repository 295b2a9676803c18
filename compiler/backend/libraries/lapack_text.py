"""The text of the functions that call LAPACK for each matrix of a batch: out comes LLVM text for f64 and f32."""

from __future__ import annotations

PREFIX = "pullback_lapack_"


def text() -> str:
    """The functions as LLVM text."""
    return "\n".join([_COMMON, *(_of_type(dtype) for dtype in ("f64", "f32"))])


def _of_type(dtype: str) -> str:
    size, real, letter = (8, "double", "d") if dtype == "f64" else (4, "float", "s")
    made = "\n".join([_DECLARED, _MISSING, _POTRF, _GETRF, _GETRI, _EXCHANGE, _GETRS, _TRSM])
    words = {"DTYPE": dtype, "REAL": real, "LETTER": letter, "SIZE": str(size), "PREFIX": PREFIX}
    for word, meaning in words.items():
        made = made.replace(f"<{word}>", meaning)
    return made


_COMMON = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
@upper = private constant i8 85
@plain = private constant i8 78
@turned = private constant i8 84
"""

_DECLARED = """
declare void @lapack_<LETTER>potrf(ptr, ptr, ptr, ptr, ptr, i64)
declare void @lapack_<LETTER>getrf(ptr, ptr, ptr, ptr, ptr, ptr)
declare void @lapack_<LETTER>getri(ptr, ptr, ptr, ptr, ptr, ptr, ptr)
declare void @lapack_<LETTER>getrs(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i64)
declare void @cblas_<LETTER>trsm(i32, i32, i32, i32, i32, i64, i64, <REAL>, ptr, i64, ptr, i64)
"""

_MISSING = """
define internal void @missing_<DTYPE>(ptr %to, i64 %size) nounwind {
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%following, %next]
  %at = getelementptr <REAL>, ptr %to, i64 %i
  store <REAL> 0x7FF8000000000000, ptr %at
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %size
  br i1 %more, label %next, label %done
done:
  ret void
}

define internal i1 @singular_<DTYPE>(ptr %a, i64 %n) nounwind {
entry:
  %step = add i64 %n, 1
  br label %next
next:
  %i = phi i64 [0, %entry], [%following, %on]
  %offset = mul i64 %i, %step
  %at = getelementptr <REAL>, ptr %a, i64 %offset
  %pivot = load <REAL>, ptr %at
  %zero = fcmp oeq <REAL> %pivot, 0.0
  br i1 %zero, label %found, label %on
on:
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %n
  br i1 %more, label %next, label %none
found:
  ret i1 1
none:
  ret i1 0
}
"""

# Each routine is a loop over the matrices of a batch. Its body ends at `after`, or at `bad` where there is no result.
_EACH = """
define i64 @<PREFIX>{name}_<DTYPE>(i64 %count, i64 %n, i64 %right, {arguments}) nounwind {{
entry:
  %np = alloca i64
  %info = alloca i64
  store i64 %n, ptr %np
  store i64 0, ptr %info
  %square = mul i64 %n, %n
{before}  br label %next
next:
  %k = phi i64 [0, %entry], [%following, %after]
  %matrix = mul i64 %k, %square
  %first = mul i64 %k, %n
{body}  br label %after
bad:
  call void @missing_<DTYPE>(ptr %to, i64 {size})
  br label %after
after:
  %following = add i64 %k, 1
  %more = icmp slt i64 %following, %count
  br i1 %more, label %next, label %done
done:
{behind}}}
"""


def _each(name: str, arguments: str, before: str, body: str, size: str = "%square", behind: str = "") -> str:
    """A routine whose result is %to, of so many elements for a matrix, and NaN where the body goes to `bad`."""
    behind = behind or "  ret i64 0\n"
    return _EACH.format(name=name, arguments=arguments, before=before, body=body, size=size, behind=behind)


_POTRF = _each("potrf", "ptr %a, ptr %low", "", """
  %from = getelementptr <REAL>, ptr %a, i64 %matrix
  %to = getelementptr <REAL>, ptr %low, i64 %matrix
  br label %row
row:
  %i = phi i64 [0, %next], [%i1, %row]
  %i1 = add i64 %i, 1
  %start = mul i64 %i, %n
  %rest = sub i64 %n, %i1
  %fromrow = getelementptr <REAL>, ptr %from, i64 %start
  %torow = getelementptr <REAL>, ptr %to, i64 %start
  %above = getelementptr <REAL>, ptr %torow, i64 %i1
  %bytes = mul i64 %i1, <SIZE>
  %restbytes = mul i64 %rest, <SIZE>
  call void @llvm.memcpy.p0.p0.i64(ptr %torow, ptr %fromrow, i64 %bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr %above, i8 0, i64 %restbytes, i1 false)
  %rows = icmp slt i64 %i1, %n
  br i1 %rows, label %row, label %factor
factor:
  call void @lapack_<LETTER>potrf(ptr @upper, ptr %np, ptr %to, ptr %np, ptr %info, i64 1)
  %status = load i64, ptr %info
  %indefinite = icmp ne i64 %status, 0
  br i1 %indefinite, label %bad, label %good
good:
""")  # fmt: skip

# LAPACK tells of a pivot of zero and leaves it in the factors, where solutions and determinants find it.
_GETRF = _each("getrf", "ptr %a, ptr %lu, ptr %swaps", """
  %bytes = mul i64 %square, <SIZE>
""", """
  %from = getelementptr <REAL>, ptr %a, i64 %matrix
  %to = getelementptr <REAL>, ptr %lu, i64 %matrix
  %order = getelementptr i64, ptr %swaps, i64 %first
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  call void @lapack_<LETTER>getrf(ptr %np, ptr %np, ptr %to, ptr %np, ptr %order, ptr %info)
""")  # fmt: skip

# An infinite pivot has an inverse of 0, so of factors that are not finite getri makes finite numbers where NumPy, which
# solves for the unit matrix, has NaN.
_GETRI = _each("getri", "ptr %lu, ptr %swaps, ptr %inverse", """
  %wp = alloca i64
  %bytes = mul i64 %square, <SIZE>
  %step = add i64 %n, 1
  %work.size = mul i64 %n, 64
  %work.bytes = mul i64 %work.size, <SIZE>
  %work = call ptr @malloc(i64 %work.bytes)
  %none = icmp eq ptr %work, null
  store i64 %work.size, ptr %wp
""", """
  %from = getelementptr <REAL>, ptr %lu, i64 %matrix
  %order = getelementptr i64, ptr %swaps, i64 %first
  %to = getelementptr <REAL>, ptr %inverse, i64 %matrix
  %singular = call i1 @singular_<DTYPE>(ptr %from, i64 %n)
  %cannot = or i1 %singular, %none
  br i1 %cannot, label %bad, label %look
look:
  %j = phi i64 [0, %next], [%j1, %look]
  %sum = phi <REAL> [0.0, %next], [%sum1, %look]
  %at = getelementptr <REAL>, ptr %from, i64 %j
  %element = load <REAL>, ptr %at
  %zero = fmul <REAL> %element, 0.0
  %sum1 = fadd <REAL> %sum, %zero
  %j1 = add i64 %j, 1
  %further = icmp slt i64 %j1, %square
  br i1 %further, label %look, label %looked
looked:
  %finite = fcmp oeq <REAL> %sum1, 0.0
  br i1 %finite, label %invert, label %infinite
infinite:
  call void @llvm.memset.p0.i64(ptr %to, i8 0, i64 %bytes, i1 false)
  br label %one
one:
  %i = phi i64 [0, %infinite], [%i1, %one]
  %place = mul i64 %i, %step
  %diagonal = getelementptr <REAL>, ptr %to, i64 %place
  store <REAL> 1.0, ptr %diagonal
  %i1 = add i64 %i, 1
  %ones = icmp slt i64 %i1, %n
  br i1 %ones, label %one, label %solve
solve:
  call i64 @<PREFIX>getrs_<DTYPE>(i64 1, i64 %n, i64 %n, i64 0, ptr %from, ptr %order, ptr %to, ptr %to)
  br label %after
invert:
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  call void @lapack_<LETTER>getri(ptr %np, ptr %to, ptr %np, ptr %order, ptr %work, ptr %wp, ptr %info)
""", behind="""
  call void @free(ptr %work)
  %status = select i1 %none, i64 -1, i64 0
  ret i64 %status
""")  # fmt: skip

_SIDES = """
  %size = mul i64 %n, %right
  %bytes = mul i64 %size, <SIZE>
  %is.turned = icmp ne i64 %turned, 0
"""

# The matrix whose pivots are looked at is %t; then the right sides are where the solution is to be.
_SIDE = """
  %t = getelementptr <REAL>, ptr {matrix}, i64 %matrix
  %offset = mul i64 %k, %size
  %from = getelementptr <REAL>, ptr %b, i64 %offset
  %to = getelementptr <REAL>, ptr %x, i64 %offset
  %singular = call i1 @singular_<DTYPE>(ptr %t, i64 %n)
  br i1 %singular, label %bad, label %solve
solve:
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
"""

# The right sides change their elements as the rows of the matrix did, from the last exchange to the first if `back`.
_EXCHANGE = """
define internal void @exchange_<DTYPE>(ptr %x, ptr %order, i64 %n, i64 %right, i1 %back) nounwind {
entry:
  %last = sub i64 %n, 1
  br label %side
side:
  %j = phi i64 [0, %entry], [%j1, %behind]
  %start = mul i64 %j, %n
  %at = getelementptr <REAL>, ptr %x, i64 %start
  br label %row
row:
  %s = phi i64 [0, %side], [%s1, %row]
  %mirrored = sub i64 %last, %s
  %i = select i1 %back, i64 %mirrored, i64 %s
  %place = getelementptr i64, ptr %order, i64 %i
  %counted = load i64, ptr %place
  %other = sub i64 %counted, 1
  %here = getelementptr <REAL>, ptr %at, i64 %i
  %there = getelementptr <REAL>, ptr %at, i64 %other
  %u = load <REAL>, ptr %here
  %v = load <REAL>, ptr %there
  store <REAL> %v, ptr %here
  store <REAL> %u, ptr %there
  %s1 = add i64 %s, 1
  %rows = icmp slt i64 %s1, %n
  br i1 %rows, label %row, label %behind
behind:
  %j1 = add i64 %j, 1
  %sides = icmp slt i64 %j1, %right
  br i1 %sides, label %side, label %done
done:
  ret void
}
"""

_TRIANGLE = """
  call void @cblas_<LETTER>trsm(i32 102, i32 141, i32 {side}, i32 {how}, i32 {unit}, i64 %n, i64 %right, <REAL> 1.0,
    ptr %t, i64 %n, ptr %to, i64 %n)"""


def _triangle(lower: bool, how: int) -> str:
    return _TRIANGLE.format(side=122 if lower else 121, how=how, unit=132 if lower else 131)


# OpenBLAS's getrs of several right sides wakes all its threads however small they are, which takes milliseconds where
# other programs run; its trsm looks at the size first.
_GETRS = _each("getrs", "i64 %turned, ptr %lu, ptr %swaps, ptr %b, ptr %x", _SIDES + """
  %rp = alloca i64
  store i64 %right, ptr %rp
  %how = select i1 %is.turned, ptr @turned, ptr @plain
  %few = icmp slt i64 %right, 2
""", _SIDE.format(matrix="%lu") + """
  %order = getelementptr i64, ptr %swaps, i64 %first
  br i1 %few, label %single, label %several
single:
  call void @lapack_<LETTER>getrs(ptr %how, ptr %np, ptr %rp, ptr %t, ptr %np, ptr %order, ptr %to, ptr %np,
    ptr %info, i64 1)
  br label %after
several:
  br i1 %is.turned, label %backward, label %forward
forward:
  call void @exchange_<DTYPE>(ptr %to, ptr %order, i64 %n, i64 %right, i1 false)""" + _triangle(True, 111)
    + _triangle(False, 111) + """
  br label %after
backward:""" + _triangle(False, 112) + _triangle(True, 112) + """
  call void @exchange_<DTYPE>(ptr %to, ptr %order, i64 %n, i64 %right, i1 true)
""", "%size")  # fmt: skip

_TRSM = _each("trsm", "i64 %upper, i64 %turned, ptr %a, ptr %b, ptr %x", _SIDES + """
  %how = select i1 %is.turned, i32 112, i32 111
  %is.upper = icmp ne i64 %upper, 0
  %side = select i1 %is.upper, i32 121, i32 122
""", _SIDE.format(matrix="%a") + """
  call void @cblas_<LETTER>trsm(i32 101, i32 141, i32 %side, i32 %how, i32 131, i64 %n, i64 %right, <REAL> 1.0,
    ptr %t, i64 %n, ptr %to, i64 %right)
""", "%size")  # fmt: skip

__all__ = ["PREFIX", "text"]
