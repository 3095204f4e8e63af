// server is a second DebuginfoService, written with grpc-go from the facts of Parca's protocol, so
// that the project's client is held to something else than the project's server. It keeps what it
// gets in memory and checks every call for what Parca's server demands.
//
//	server [GRPC | SIGNED_URL]
//
// It tells the script when it listens and what it sees ("!listening ADDRESS", "!saw ..."), and ends
// with its standard input. A file's behaviour is chosen by the first byte of its
// build ID; see faults.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"symbolizer.test/grpc_go/control"
	pb "symbolizer.test/grpc_go/debuginfo"
)

const (
	messageSizeMax = 64 << 20
	uploadSizeMax  = 1_000_000_000
)

// A record is what is known of one (build ID, type).
type record struct {
	uploadID string
	uploaded bool
	size     int64
	bytes    []byte
	started  time.Time
}

type key struct {
	buildID string
	kind    pb.DebuginfoType
}

type server struct {
	pb.UnimplementedDebuginfoServiceServer
	signedURL string // with %s for the upload id; empty: gRPC

	lock    sync.Mutex
	records map[key]*record
	tries   map[string]int // of a call of a build ID
}

func saw(format string, arguments ...any) {
	control.Tell("saw", fmt.Sprintf(format, arguments...))
}

// try counts the calls of that name for a build ID.
func (s *server) try(name, buildID string) int {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.tries[name+buildID]++
	return s.tries[name+buildID]
}

func (s *server) byUploadID(id string) (key, *record) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for k, r := range s.records {
		if r.uploadID == id {
			return k, r
		}
	}
	return key{}, nil
}

// receivePut is the object store that signed URLs lead to.
func (s *server) receivePut(writer http.ResponseWriter, request *http.Request) {
	k, r := s.byUploadID(strings.TrimPrefix(request.URL.Path, "/put/"))
	if r == nil || request.Method != http.MethodPut {
		http.Error(writer, "no such upload", http.StatusForbidden)
		return
	}
	if faultOf(k.buildID) == faultUnavailableOnce && s.try("PUT", k.buildID) == 1 {
		http.Error(writer, "slow down", http.StatusServiceUnavailable)
		return
	}
	bytes, err := io.ReadAll(io.LimitReader(request.Body, uploadSizeMax))
	if err != nil || int64(len(bytes)) != r.size {
		http.Error(writer, "wrong size", http.StatusBadRequest)
		return
	}
	s.lock.Lock()
	r.bytes = bytes
	s.lock.Unlock()
	saw("put %s %x", k.buildID, sha256.Sum256(bytes))
}

func run(strategy string) error {
	s := &server{records: map[key]*record{}, tries: map[string]int{}}
	if strategy == "SIGNED_URL" {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s.signedURL = "http://" + listener.Addr().String() + "/put/%s?signature=a%%2Fb%%3D&expires=1"
		go http.Serve(listener, http.HandlerFunc(s.receivePut))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	service := grpc.NewServer(grpc.MaxRecvMsgSize(messageSizeMax), grpc.MaxSendMsgSize(messageSizeMax))
	pb.RegisterDebuginfoServiceServer(service, s)
	go service.Serve(listener)
	defer service.Stop()
	control.Tell("listening", listener.Addr().String())
	control.WaitForEnd()
	return nil
}

func main() {
	strategy := "GRPC"
	if len(os.Args) > 1 {
		strategy = os.Args[1]
	}
	if err := run(strategy); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}
