// parca_agent uploads files with Parca Agent's own uploader, on the connection and with the settings
// that the agent has:
//
//	parca_agent ADDRESS DIRECTORY STRIP FILE...
//
// DIRECTORY takes the uploader's temporary files; STRIP is true, as the agent's default, or false.
// Ends with its standard input.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	pb "symbolizer.test/parca_agent/debuginfo"
	"symbolizer.test/parca_agent/profiler/libpf"
	"symbolizer.test/parca_agent/profiler/process"
	"symbolizer.test/parca_agent/reporter"
)

// The agent's defaults.
const (
	cacheSize   = 65536
	queueSize   = 4096
	workerCount = 25
	callSizeMax = 32 << 20
)

func dial(address string) (*grpc.ClientConn, error) {
	authorized := func(ctx context.Context) context.Context {
		return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer token")
	}
	return grpc.NewClient("passthrough:///"+address, grpc.WithNoProxy(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(callSizeMax), grpc.MaxCallSendMsgSize(callSizeMax)),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, request, reply any, c *grpc.ClientConn,
			invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			return invoke(authorized(ctx), method, request, reply, c, options...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, c *grpc.ClientConn, method string,
			open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
			return open(authorized(ctx), d, c, method, options...)
		}))
}

// identify returns the FileID and the GNU build ID, which may be empty.
func identify(path string) (id libpf.FileID, buildID string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return id, "", err
	}
	edge := min(len(data), 4096)
	hash := sha256.New()
	hash.Write(data[:edge])
	hash.Write(data[len(data)-edge:])
	binary.Write(hash, binary.BigEndian, uint64(len(data)))
	copy(id[:], hash.Sum(nil))
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return id, "", err
	}
	if section := file.Section(".note.gnu.build-id"); section != nil {
		note, err := section.Data()
		if err != nil || len(note) < 16 {
			return id, "", fmt.Errorf("%s: a broken note: %w", path, err)
		}
		buildID = hex.EncodeToString(note[16:])
	}
	return id, buildID, nil
}

func run(address, directory, strip string, paths []string) error {
	connection, err := dial(address)
	if err != nil {
		return err
	}
	defer connection.Close()
	uploader, err := reporter.NewParcaSymbolUploader(pb.NewDebuginfoServiceClient(connection), cacheSize,
		strip == "true", queueSize, workerCount, directory,
		prometheus.NewCounter(prometheus.CounterOpts{Name: "uploaded_bytes"}))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go uploader.Run(ctx)
	for _, path := range paths {
		id, buildID, err := identify(path)
		if err != nil {
			return err
		}
		uploader.Upload(ctx, id, path, buildID, func() (process.ReadAtCloser, error) { return os.Open(path) })
	}
	io.Copy(io.Discard, os.Stdin)
	return nil
}

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: parca_agent ADDRESS DIRECTORY STRIP FILE...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, "parca_agent:", err)
		os.Exit(1)
	}
}
