// Package process stands in for the profiler's package of that name, as far as the uploader needs it.
package process

import "io"

type ReadAtCloser interface {
	io.ReaderAt
	io.Closer
}
