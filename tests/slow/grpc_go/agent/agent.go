// Package agent speaks DebuginfoService as Parca Agent does: one connection, bearer token and retry
// count as metadata, chunks of 8 MiB without compression, messages of at most 64 MiB.
package agent

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	pb "symbolizer.test/grpc_go/debuginfo"
)

const (
	ChunkSize      = 8 << 20
	MessageSizeMax = 64 << 20
	CallSizeMax    = 32 << 20
)

// An Agent is one connection.
type Agent struct {
	Connection *grpc.ClientConn
	Client     pb.DebuginfoServiceClient
}

func withMetadata(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx,
		"authorization", "Bearer psc_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"projectid", "5e8a1d2c-0000-4000-8000-000000000001",
		"x-retry-attempty", "1")
}

// Dial returns a connection that opens with its first call.
func Dial(address string) (*Agent, error) {
	unary := func(ctx context.Context, method string, request, reply any, c *grpc.ClientConn,
		invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		return invoke(withMetadata(ctx), method, request, reply, c, options...)
	}
	stream := func(ctx context.Context, description *grpc.StreamDesc, c *grpc.ClientConn, method string,
		open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
		return open(withMetadata(ctx), description, c, method, options...)
	}
	transport, err := transportCredentials()
	if err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(transport), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(CallSizeMax),
			grpc.MaxCallSendMsgSize(CallSizeMax)),
		grpc.WithUnaryInterceptor(unary), grpc.WithStreamInterceptor(stream))
	if err != nil {
		return nil, err
	}
	return &Agent{connection, pb.NewDebuginfoServiceClient(connection)}, nil
}

func (a *Agent) Close() { a.Connection.Close() }

// FileID is what agents call a file by: SHA-256 over its first and last 4 KiB and its size.
func FileID(data []byte) string {
	edge := min(len(data), 4096)
	hash := sha256.New()
	hash.Write(data[:edge])
	hash.Write(data[len(data)-edge:])
	binary.Write(hash, binary.BigEndian, uint64(len(data)))
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// Send is the agent's Upload: the info, then chunks as large as the reader gives. When the server
// refuses early, sending ends with EOF, and the status is received.
func (a *Agent) Send(ctx context.Context, to *pb.UploadInstructions, bytes io.Reader,
	chunkSize int) (*pb.UploadResponse, error) {
	stream, err := a.Client.Upload(ctx, grpc.MaxCallSendMsgSize(MessageSizeMax))
	if err != nil {
		return nil, err
	}
	err = stream.Send(&pb.UploadRequest{Data: &pb.UploadRequest_Info{Info: &pb.UploadInfo{
		UploadId: to.UploadId, BuildId: to.BuildId, Type: to.Type}}})
	buffer := make([]byte, chunkSize)
	for err == nil {
		count, readErr := io.ReadFull(bytes, buffer)
		if count > 0 {
			err = stream.Send(&pb.UploadRequest{
				Data: &pb.UploadRequest_ChunkData{ChunkData: buffer[:count]}})
		}
		if err == nil && readErr != nil {
			if readErr == io.EOF || readErr == io.ErrUnexpectedEOF {
				return stream.CloseAndRecv()
			}
			return nil, readErr
		}
	}
	if errors.Is(err, io.EOF) {
		err = stream.RecvMsg(new(pb.UploadResponse))
	}
	return nil, err
}

// A File is what is to be uploaded, and under which name.
type File struct {
	BuildID string
	Kind    pb.BuildIDType
	Type    pb.DebuginfoType
	Hash    string
	Size    int64
	Open    func() io.Reader
}

// Upload is the agent's whole sequence.
func (a *Agent) Upload(ctx context.Context, file *File) error {
	return a.UploadInChunks(ctx, file, ChunkSize)
}

// UploadInChunks is Upload with other chunks than the agent's.
func (a *Agent) UploadInChunks(ctx context.Context, file *File, chunkSize int) error {
	should, err := a.Client.ShouldInitiateUpload(ctx, &pb.ShouldInitiateUploadRequest{
		BuildId: file.BuildID, BuildIdType: file.Kind, Type: file.Type})
	if err != nil {
		return fmt.Errorf("ShouldInitiateUpload: %w", err)
	}
	if !should.ShouldInitiateUpload {
		return fmt.Errorf("not wanted: %s", should.Reason)
	}
	initiated, err := a.Client.InitiateUpload(ctx, &pb.InitiateUploadRequest{
		BuildId: file.BuildID, BuildIdType: file.Kind, Type: file.Type, Hash: file.Hash,
		Size: file.Size})
	if err != nil {
		return fmt.Errorf("InitiateUpload: %w", err)
	}
	response, err := a.Send(ctx, initiated.UploadInstructions, file.Open(), chunkSize)
	if err != nil {
		return fmt.Errorf("Upload: %w", err)
	}
	if response.Size != uint64(file.Size) {
		return fmt.Errorf("Upload: the server got %d of %d bytes", response.Size, file.Size)
	}
	_, err = a.Client.MarkUploadFinished(ctx, &pb.MarkUploadFinishedRequest{
		BuildId: file.BuildID, UploadId: initiated.UploadInstructions.UploadId})
	if err != nil {
		return fmt.Errorf("MarkUploadFinished: %w", err)
	}
	return nil
}

// Context is for one call or sequence that must end.
func Context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 5*time.Minute)
}
