/*
 * Failures. A function that can fail returns an `enum err` and describes the failure in a `struct
 * error` that its caller owns: a code to branch on, an errno where the system gave one, and one
 * line of text for a person. No allocation, no globals; context is put in front on the way up.
 *
 * A bug in our own logic is an assert. A miss (an address nobody knows) is an answer, not an error.
 */
#pragma once

enum err {
    ERR_OK = 0,
    ERR_NO_MEMORY,   /* an allocation failed, or an arena's limit was reached */
    ERR_IO,          /* the system refused; see sys_errno */
    ERR_MALFORMED,   /* bytes from outside break their format */
    ERR_UNSUPPORTED, /* well-formed, but a kind we do not read */
    ERR_LIMIT,       /* over a configured bound; asking again will not help */
    ERR_INVALID,     /* the caller's argument is wrong */
    ERR_NOT_FOUND,
    ERR_EXISTS,
    ERR_STATE,       /* not possible in the present state (gRPC FAILED_PRECONDITION) */
    ERR_EXHAUSTED,   /* over a quota or a queue's length; may work later */
    ERR_NO_SPACE,    /* the disk is full; may work later */
    ERR_UNAVAILABLE, /* a part we need is not up; may work later */
    ERR_TIMEOUT,
    ERR_CANCELLED,
    ERR_ABORTED, /* by a newer request for the same thing */
    ERR_UNIMPLEMENTED,
    ERR_DENIED,   /* well-formed, but the asker may not */
    ERR_KILLED,   /* a worker process died or was killed */
    ERR_DAMAGED,  /* what is stored here is no longer what was stored */
    ERR_INTERNAL, /* our own invariant broke in a way we can still report */
    ERR_COUNT,
};

struct error {
    enum err code;
    int sys_errno; /* 0 unless code came from a system call */
    char text[512];
};

/* Fill `error` and return `code`. The text is truncated to fit, never lost silently mid-character.
 */
enum err error_set(struct error *error, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Same, for a failed system call: appends ": " and strerror(sys_errno). */
enum err error_set_errno(struct error *error, enum err code, int sys_errno, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The code of a failed system call that takes space: ERR_NO_SPACE when there is none (left for this
 * user), else ERR_IO. */
enum err err_of_errno(int sys_errno);

/* Put "<format>: " before the text that is there; returns error->code. */
enum err error_prefix(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A stable lower-case word for logs and JSON, such as "not_found". */
const char *err_name(enum err code);

#ifdef __clang_analyzer__
/* The analyzer sees one file at a time: tell it that these return the code they were given. */
#define error_set(error, code, ...) ((void)error_set(error, code, __VA_ARGS__), (code))
#define error_set_errno(error, code, ...) ((void)error_set_errno(error, code, __VA_ARGS__), (code))
#endif
