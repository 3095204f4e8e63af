"""Whether a program was built for a sanitizer, whose shadow memory leaves no room for limits."""


def is_sanitized(program):
    with open(program, "rb") as file:
        contents = file.read()
    return b"__asan_init" in contents or b"__tsan_init" in contents
