package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "symbolizer.test/grpc_go/debuginfo"
)

// What goes wrong, by the first byte of the build ID.
const (
	faultNone            = "00"
	faultUnavailableOnce = "01" // each call, the first time
	faultAlreadyExists   = "02" // InitiateUpload: another one was faster
	faultPrecondition    = "03" // InitiateUpload: another one is uploading
	faultMidStream       = "04" // Upload: refused after the first chunk, with a reason
	faultMidStreamOnce   = "05" // Upload: Unavailable after the first chunk, the first time
	faultNoInstructions  = "06" // InitiateUpload: an empty answer
	faultOddStrategy     = "07" // InitiateUpload: a strategy that nobody knows
	faultExhaustedOnce   = "08" // ShouldInitiateUpload: ResourceExhausted, the first time
	faultFinish          = "09" // MarkUploadFinished: refused
	faultLongReason      = "0a" // Upload: refused with a text of 4 KiB in many scripts
	faultInternal        = "0b" // InitiateUpload: a code that is not to be tried again
)

// The tail of the ids that ask for a fault: a hash may begin with any two digits.
const faultTail = "5a5a5a5a"

func faultOf(buildID string) string {
	if !strings.HasSuffix(buildID, faultTail) {
		return faultNone
	}
	return buildID[:2]
}

const (
	firstTimeSeen = "First time we see this Build ID, and it does not exist in debuginfod, therefore please upload!"
	inProgress    = "A previous upload is still in-progress and not stale yet (only stale uploads can be retried)."
	restartForced = "A previous upload is in-progress, but accepting restart because it's requested to be forced."
	exists        = "Debuginfo already exists and is not marked as invalid, therefore no new upload is needed."
	existsForced  = "Debuginfo already exists and is not marked as invalid, therefore wouldn't have accepted a new upload, but accepting it because it's requested to be forced."
	staleReason   = "A previous upload was started but not finished and is now stale, so it can be retried."
)

func (s *server) decide(k key, force bool) (bool, string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	r := s.records[k]
	switch {
	case r == nil:
		return true, firstTimeSeen
	case r.uploaded && force:
		return true, existsForced
	case r.uploaded:
		return false, exists
	case force:
		return true, restartForced
	case time.Since(r.started) > 17*time.Minute:
		return true, staleReason
	}
	return false, inProgress
}

func checkID(id string) error {
	if len(id) <= 2 {
		return status.Error(codes.InvalidArgument, "unexpectedly short input")
	}
	return nil
}

func (s *server) ShouldInitiateUpload(_ context.Context, request *pb.ShouldInitiateUploadRequest) (*pb.ShouldInitiateUploadResponse, error) {
	if err := checkID(request.BuildId); err != nil {
		return nil, err
	}
	try := s.try("should", request.BuildId)
	saw("should %s kind=%d type=%d force=%v try=%d", request.BuildId, request.BuildIdType, request.Type, request.Force, try)
	switch fault := faultOf(request.BuildId); {
	case fault == faultUnavailableOnce && try == 1:
		return nil, status.Error(codes.Unavailable, "come again")
	case fault == faultExhaustedOnce && try == 1:
		return nil, status.Error(codes.ResourceExhausted, "too many of you")
	}
	should, reason := s.decide(key{request.BuildId, request.Type}, request.Force)
	return &pb.ShouldInitiateUploadResponse{ShouldInitiateUpload: should, Reason: reason}, nil
}

func (s *server) initiateFault(request *pb.InitiateUploadRequest, try int) (*pb.InitiateUploadResponse, error) {
	switch faultOf(request.BuildId) {
	case faultUnavailableOnce:
		if try == 1 {
			return nil, status.Error(codes.Unavailable, "come again")
		}
	case faultAlreadyExists:
		return nil, status.Error(codes.AlreadyExists, "another one was faster")
	case faultPrecondition:
		return nil, status.Error(codes.FailedPrecondition,
			"upload should not have been attempted to be initiated, a previous check should have failed with: "+inProgress)
	case faultNoInstructions:
		return &pb.InitiateUploadResponse{}, nil
	case faultOddStrategy:
		return &pb.InitiateUploadResponse{UploadInstructions: &pb.UploadInstructions{
			BuildId: request.BuildId, UploadId: "x", UploadStrategy: 9}}, nil
	case faultInternal:
		return nil, status.Error(codes.Internal, "a bug of this server")
	}
	return nil, nil
}

func uuid4() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func checkInitiate(request *pb.InitiateUploadRequest) error {
	if err := checkID(request.BuildId); err != nil {
		return err
	}
	if request.Hash == "" {
		return status.Error(codes.InvalidArgument, "hash must be set")
	}
	if request.Size == 0 {
		return status.Error(codes.InvalidArgument, "size must be set")
	}
	if request.Size > uploadSizeMax {
		return status.Errorf(codes.InvalidArgument, "upload size %d exceeds maximum allowed size %d",
			request.Size, uploadSizeMax)
	}
	return nil
}

func (s *server) InitiateUpload(_ context.Context, request *pb.InitiateUploadRequest) (*pb.InitiateUploadResponse, error) {
	if err := checkInitiate(request); err != nil {
		return nil, err
	}
	if response, err := s.initiateFault(request, s.try("initiate", request.BuildId)); response != nil || err != nil {
		return response, err
	}
	k := key{request.BuildId, request.Type}
	if should, reason := s.decide(k, request.Force); !should {
		return nil, status.Error(codes.FailedPrecondition,
			"upload should not have been attempted to be initiated, a previous check should have failed with: "+reason)
	}
	r := &record{uploadID: uuid4(), size: request.Size, started: time.Now()}
	s.lock.Lock()
	s.records[k] = r
	s.lock.Unlock()
	told := &pb.UploadInstructions{BuildId: request.BuildId, UploadId: r.uploadID, Type: request.Type,
		UploadStrategy: pb.UploadInstructions_UPLOAD_STRATEGY_GRPC}
	if s.signedURL != "" {
		told.UploadStrategy = pb.UploadInstructions_UPLOAD_STRATEGY_SIGNED_URL
		told.SignedUrl = fmt.Sprintf(s.signedURL, r.uploadID)
	}
	return &pb.InitiateUploadResponse{UploadInstructions: told}, nil
}

// checkInfo is the first message of an upload.
func (s *server) checkInfo(first *pb.UploadRequest) (key, *record, error) {
	info := first.GetInfo()
	if info == nil {
		return key{}, nil, status.Error(codes.InvalidArgument, "the first message is no info")
	}
	k := key{info.BuildId, info.Type}
	if err := checkID(info.BuildId); err != nil {
		return k, nil, err
	}
	s.lock.Lock()
	r := s.records[k]
	s.lock.Unlock()
	if r == nil {
		return k, nil, status.Error(codes.FailedPrecondition, "upload was not initiated")
	}
	if r.uploadID != info.UploadId {
		return k, nil, status.Error(codes.InvalidArgument,
			"the upload ID does not match the one returned by the InitiateUpload call")
	}
	return k, r, nil
}

func midStream(fault string, try int) error {
	switch {
	case fault == faultMidStream:
		return status.Error(codes.InvalidArgument, "I have seen enough")
	case fault == faultMidStreamOnce && try == 1, fault == faultUnavailableOnce && try == 1:
		return status.Error(codes.Unavailable, "come again")
	case fault == faultLongReason:
		text := ""
		for len(text) < 4096 {
			text += "zu groß 太大 \n 100% \x01 "
		}
		return status.Error(codes.InvalidArgument, text)
	}
	return nil
}

func (s *server) Upload(stream grpc.ClientStreamingServer[pb.UploadRequest, pb.UploadResponse]) error {
	if s.signedURL != "" {
		return status.Error(codes.Unimplemented, "signed URL uploads are the only ones")
	}
	first, err := stream.Recv()
	if err != nil {
		return status.Error(codes.InvalidArgument, "no info")
	}
	k, r, err := s.checkInfo(first)
	if err != nil {
		return err
	}
	try := s.try("upload", k.buildID)
	var bytes []byte
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if _, isChunk := request.Data.(*pb.UploadRequest_ChunkData); !isChunk {
			return status.Error(codes.InvalidArgument, "not a chunk")
		}
		if err := midStream(faultOf(k.buildID), try); err != nil {
			return err
		}
		bytes = append(bytes, request.GetChunkData()...)
	}
	s.lock.Lock()
	r.bytes = bytes
	s.lock.Unlock()
	saw("upload %s %x", k.buildID, sha256.Sum256(bytes))
	return stream.SendAndClose(&pb.UploadResponse{BuildId: k.buildID, Size: uint64(len(bytes))})
}

func (s *server) MarkUploadFinished(_ context.Context, request *pb.MarkUploadFinishedRequest) (*pb.MarkUploadFinishedResponse, error) {
	if err := checkID(request.BuildId); err != nil {
		return nil, err
	}
	try := s.try("finish", request.BuildId)
	switch fault := faultOf(request.BuildId); {
	case fault == faultUnavailableOnce && try == 1:
		return nil, status.Error(codes.Unavailable, "come again")
	case fault == faultFinish:
		return nil, status.Error(codes.InvalidArgument, "not what was claimed")
	}
	s.lock.Lock()
	r := s.records[key{request.BuildId, request.Type}]
	defer s.lock.Unlock()
	if r == nil {
		return nil, status.Error(codes.NotFound, "no debuginfo upload metadata found for build id")
	}
	if r.uploadID != request.UploadId {
		return nil, status.Error(codes.InvalidArgument, "upload id mismatch")
	}
	if int64(len(r.bytes)) != r.size {
		return nil, status.Error(codes.FailedPrecondition, "the bytes have not come")
	}
	r.uploaded = true
	return &pb.MarkUploadFinishedResponse{}, nil
}
