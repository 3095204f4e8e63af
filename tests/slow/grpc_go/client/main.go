// client drives a symbolizerd as agents do:
//
//	client table ADDRESS PROGRAM POOR   what each call answers, row by row, as TAP
//	client signed ADDRESS PROGRAM       the same, where bytes are sent to signed URLs
//	client many ADDRESS PROGRAM COUNT   COUNT uploads at once, of as many files
//	client idle ADDRESS COUNT           COUNT connections that have asked once, kept
//	client trickle ADDRESS PROGRAM SECONDS   one upload, a chunk a second
//	client large ADDRESS PROGRAM SIZE   one upload of PROGRAM, made that large by zeros behind it
//
// PROGRAM is an ELF file with a GNU build ID, POOR one that has symbols but no debug information.
package main

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"symbolizer.test/grpc_go/agent"
	pb "symbolizer.test/grpc_go/debuginfo"
)

// A program is an ELF file and the place of its build ID, so that others can be made of it.
type program struct {
	data    []byte
	buildID []byte
}

func readProgram(path string) (*program, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	section := file.Section(".note.gnu.build-id")
	if section == nil {
		return nil, errors.New("no build ID")
	}
	note, err := section.Data()
	if err != nil || len(note) != 16+20 {
		return nil, errors.New("the build ID is not of the usual kind")
	}
	return &program{data, note[16:]}, nil
}

// variant is the same program under the build ID of that number.
func (p *program) variant(number int) *agent.File {
	id := fmt.Appendf(nil, "%08d_symbolizers", number)
	data := bytes.Replace(p.data, p.buildID, id, 1)
	return fileOf(hex.EncodeToString(id), data)
}

func run(arguments []string) error {
	if len(arguments) < 3 {
		return errors.New("too few arguments")
	}
	command, address, rest := arguments[0], arguments[1], arguments[2:]
	if command == "idle" {
		return idle(address, rest[0])
	}
	main, err := readProgram(rest[0])
	if err != nil {
		return fmt.Errorf("%s: %w", rest[0], err)
	}
	switch command {
	case "table":
		poor, err := readProgram(rest[1])
		if err != nil {
			return fmt.Errorf("%s: %w", rest[1], err)
		}
		return table(address, main, poor)
	case "signed":
		return check(address, main, nil, signedRows)
	case "many":
		return many(address, main, rest[1])
	case "trickle":
		return trickle(address, main, rest[1])
	case "large":
		return large(address, main, rest[1])
	}
	return fmt.Errorf("no command %q", command)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func fileOf(buildID string, data []byte) *agent.File {
	return &agent.File{BuildID: buildID, Kind: pb.BuildIDType_BUILD_ID_TYPE_GNU,
		Hash: agent.FileID(data), Size: int64(len(data)),
		Open: func() io.Reader { return bytes.NewReader(data) }}
}
