// Package libpf stands in for the profiler's package of that name, as far as the uploader needs it:
// the module itself is published nowhere that a Go proxy can reach.
package libpf

import (
	"encoding/binary"
	"encoding/hex"
)

// A FileID names a file by a hash of its edges and size.
type FileID [16]byte

func (id FileID) Hash32() uint32 { return binary.BigEndian.Uint32(id[12:]) }

func (id FileID) StringNoQuotes() string { return hex.EncodeToString(id[:]) }
