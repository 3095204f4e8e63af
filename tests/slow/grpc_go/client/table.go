package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"symbolizer.test/grpc_go/agent"
	"symbolizer.test/grpc_go/control"
	pb "symbolizer.test/grpc_go/debuginfo"
)

// The reasons, in Parca's words: agents compare at least one of them.
const (
	firstTimeSeen = "First time we see this Build ID, and it does not exist in debuginfod, therefore please upload!"
	stale         = "A previous upload was started but not finished and is now stale, so it can be retried."
	inProgress    = "A previous upload is still in-progress and not stale yet (only stale uploads can be retried)."
	restartForced = "A previous upload is in-progress, but accepting restart because it's requested to be forced."
	exists        = "Debuginfo already exists and is not marked as invalid, therefore no new upload is needed."
	existsForced  = "Debuginfo already exists and is not marked as invalid, therefore wouldn't have accepted a new upload, but accepting it because it's requested to be forced."
	invalid       = "Debuginfo already exists but is marked as invalid, therefore a new upload is needed. Hash the debuginfo and initiate the upload."
	equal         = "Debuginfo already exists and is marked as invalid, but the proposed hash is the same as the one already available, therefore the upload is not accepted as it would result in the same invalid debuginfos."
	notEqual      = "Debuginfo already exists but is marked as invalid, therefore a new upload will be accepted."
	purged        = "Debuginfo was previously uploaded but has been purged/cleaned up, therefore a new upload is needed."
	refusedWith   = "upload should not have been attempted to be initiated, a previous check should have failed with: "
)

const (
	gnu        = pb.BuildIDType_BUILD_ID_TYPE_GNU
	debugFile  = pb.DebuginfoType_DEBUGINFO_TYPE_DEBUGINFO_UNSPECIFIED
	executable = pb.DebuginfoType_DEBUGINFO_TYPE_EXECUTABLE
	sources    = pb.DebuginfoType_DEBUGINFO_TYPE_SOURCES
	sourceMap  = pb.DebuginfoType_DEBUGINFO_TYPE_SOURCE_MAP
)

var uuid4 = regexp.MustCompile("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")

// A row is one sentence about the server.
type row struct {
	sentence string
	check    func(t *tester) error
}

type tester struct {
	*agent.Agent
	ctx    context.Context
	main   *program
	poor   *program
	number int
}

// fresh is a file that nobody has uploaded.
func (t *tester) fresh() *agent.File {
	t.number++
	return t.main.variant(t.number)
}

func (t *tester) freshPoor() *agent.File {
	t.number++
	return t.poor.variant(t.number)
}

// --- calls ------------------------------------------------------------------------------------------

type question struct {
	hash  string
	force bool
}

func (t *tester) ask(file *agent.File, q question) (*pb.ShouldInitiateUploadResponse, error) {
	return t.Client.ShouldInitiateUpload(t.ctx, &pb.ShouldInitiateUploadRequest{
		BuildId: file.BuildID, BuildIdType: file.Kind, Type: file.Type, Hash: q.hash, Force: q.force})
}

func (t *tester) initiate(file *agent.File, force bool) (*pb.UploadInstructions, error) {
	response, err := t.Client.InitiateUpload(t.ctx, &pb.InitiateUploadRequest{
		BuildId: file.BuildID, BuildIdType: file.Kind, Type: file.Type, Hash: file.Hash,
		Size: file.Size, Force: force})
	if err != nil {
		return nil, err
	}
	return response.UploadInstructions, nil
}

func (t *tester) finish(file *agent.File, uploadID string, kind pb.DebuginfoType) error {
	_, err := t.Client.MarkUploadFinished(t.ctx, &pb.MarkUploadFinishedRequest{
		BuildId: file.BuildID, UploadId: uploadID, Type: kind})
	return err
}

// store is initiate, send, finish.
func (t *tester) store(file *agent.File, force bool) error {
	told, err := t.initiate(file, force)
	if err != nil {
		return err
	}
	if _, err = t.Send(t.ctx, told, file.Open(), agent.ChunkSize); err != nil {
		return err
	}
	return t.finish(file, told.UploadId, file.Type)
}

// --- what is expected -------------------------------------------------------------------------------

func (t *tester) wantAnswer(file *agent.File, q question, should bool, reason string) error {
	answer, err := t.ask(file, q)
	if err != nil {
		return err
	}
	if answer.ShouldInitiateUpload != should || answer.Reason != reason {
		return fmt.Errorf("got %v %q, want %v %q", answer.ShouldInitiateUpload, answer.Reason, should, reason)
	}
	return nil
}

func wantCode(err error, code codes.Code, says string) error {
	if status.Code(err) != code || !strings.Contains(status.Convert(err).Message(), says) {
		return fmt.Errorf("got %v, want %v with %q", err, code, says)
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tester) wantInitiate(file *agent.File, code codes.Code, says string) error {
	_, err := t.initiate(file, false)
	return wantCode(err, code, says)
}

// started is a fresh file whose upload was initiated.
func (t *tester) started() (*agent.File, *pb.UploadInstructions, error) {
	file := t.fresh()
	told, err := t.initiate(file, false)
	return file, told, err
}

// stored is a fresh file that was uploaded.
func (t *tester) stored() (*agent.File, error) {
	file := t.fresh()
	return file, t.store(file, false)
}

// failed sends something that is no ELF file, and is refused at the end.
func (t *tester) failed(file *agent.File) error {
	junk := bytes.Repeat([]byte("no ELF file\n"), 100)
	file.Size = int64(len(junk))
	file.Open = func() io.Reader { return bytes.NewReader(junk) }
	return wantCode(t.store(file, false), codes.InvalidArgument, "")
}

func table(address string, main, poor *program) error {
	return check(address, main, poor, slices.Concat(questions, initiations, streams, endings))
}

func check(address string, main, poor *program, rows []row) error {
	connection, err := agent.Dial(address)
	if err != nil {
		return err
	}
	t := &tester{Agent: connection, main: main, poor: poor}
	for i, r := range rows {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		t.ctx = ctx
		if err := r.check(t); err != nil {
			fmt.Printf("not ok %d - %s\n", i+1, r.sentence)
			control.Note("%s", strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Printf("ok %d - %s\n", i+1, r.sentence)
		}
		cancel()
	}
	fmt.Printf("1..%d\n", len(rows))
	return nil
}

// --- ShouldInitiateUpload ---------------------------------------------------------------------------

var questions = []row{
	{"ShouldInitiateUpload, id of two characters or less: InvalidArgument", func(t *tester) error {
		for _, id := range []string{"", "a", "ab"} {
			_, err := t.ask(&agent.File{BuildID: id}, question{})
			if err := wantCode(err, codes.InvalidArgument, "unexpectedly short input"); err != nil {
				return err
			}
		}
		return nil
	}},
	{"ShouldInitiateUpload, nothing known: yes, FirstTimeSeen, and asking leaves nothing behind", func(t *tester) error {
		file := t.fresh()
		return first(t.wantAnswer(file, question{}, true, firstTimeSeen),
			t.wantAnswer(file, question{}, true, firstTimeSeen),
			t.wantAnswer(file, question{force: true}, true, firstTimeSeen))
	}},
	{"ShouldInitiateUpload, uploading: no, InProgress, in the words that agents compare", func(t *tester) error {
		file, _, err := t.started()
		return first(err, t.wantAnswer(file, question{}, false, inProgress))
	}},
	{"ShouldInitiateUpload, uploading, forced: yes, InProgressButForced", func(t *tester) error {
		file, _, err := t.started()
		return first(err, t.wantAnswer(file, question{force: true}, true, restartForced))
	}},
	{"ShouldInitiateUpload, uploading for more than 17 minutes: yes, UploadStale, and it may be begun anew", func(t *tester) error {
		file, _, err := t.started()
		if err != nil {
			return err
		}
		if _, err = control.Ask("age", file.BuildID, "1015"); err != nil {
			return err
		}
		if err = t.wantAnswer(file, question{}, false, inProgress); err != nil {
			return fmt.Errorf("at 16 min 55 s: %w", err)
		}
		if _, err = control.Ask("age", file.BuildID, "10"); err != nil {
			return err
		}
		return first(t.wantAnswer(file, question{}, true, stale), t.store(file, false),
			t.wantAnswer(file, question{}, false, exists))
	}},
	{"ShouldInitiateUpload, uploaded: no, AlreadyExists", func(t *tester) error {
		file, err := t.stored()
		return first(err, t.wantAnswer(file, question{}, false, exists),
			t.wantAnswer(file, question{hash: "another"}, false, exists))
	}},
	{"ShouldInitiateUpload, uploaded, forced: yes, AlreadyExistsButForced", func(t *tester) error {
		file, err := t.stored()
		return first(err, t.wantAnswer(file, question{force: true}, true, existsForced))
	}},
	{"ShouldInitiateUpload, invalid, no hash: yes, Invalid", func(t *tester) error {
		file := t.fresh()
		return first(t.failed(file), t.wantAnswer(file, question{}, true, invalid))
	}},
	{"ShouldInitiateUpload, invalid, another hash: yes, NotEqual", func(t *tester) error {
		file := t.fresh()
		return first(t.failed(file), t.wantAnswer(file, question{hash: "another"}, true, notEqual))
	}},
	{"ShouldInitiateUpload, invalid, the same hash: three retries, then no, Equal; another hash repairs it", func(t *tester) error {
		file := t.fresh()
		for range 3 {
			if err := t.failed(file); err != nil {
				return err
			}
			if err := t.wantAnswer(file, question{hash: file.Hash}, true, notEqual); err != nil {
				return err
			}
		}
		good := t.main.variant(t.number)
		good.Hash = "another"
		return first(t.failed(file), t.wantAnswer(file, question{hash: file.Hash}, false, equal),
			t.wantInitiate(file, codes.AlreadyExists, ""), t.store(good, false),
			t.wantAnswer(file, question{}, false, exists))
	}},
	{"ShouldInitiateUpload, only symbols are there: one of the fleet is asked within the hour; the same file is AlreadyExists, a better one is taken", func(t *tester) error {
		file := t.freshPoor()
		better := t.main.variant(t.number)
		return first(t.store(file, false), t.wantAnswer(file, question{}, true, invalid),
			t.wantAnswer(file, question{}, false, exists),
			t.wantAnswer(file, question{hash: file.Hash}, false, equal),
			t.wantInitiate(file, codes.AlreadyExists, ""), t.store(better, false),
			t.wantAnswer(file, question{}, false, exists))
	}},
	{"ShouldInitiateUpload, purged: yes, Purged, and it is taken again", func(t *tester) error {
		file, err := t.stored()
		if err != nil {
			return err
		}
		if _, err = control.Ask("purge", file.BuildID); err != nil {
			return err
		}
		return first(t.wantAnswer(file, question{}, true, purged), t.store(file, false),
			t.wantAnswer(file, question{}, false, exists))
	}},
	{"ShouldInitiateUpload, build_id_type unset as old clients leave it: found as GNU", func(t *tester) error {
		file := t.fresh()
		file.Kind = pb.BuildIDType_BUILD_ID_TYPE_UNKNOWN_UNSPECIFIED
		if err := t.store(file, false); err != nil {
			return err
		}
		file.Kind = gnu
		return t.wantAnswer(file, question{}, false, exists)
	}},
	{"ShouldInitiateUpload, ids with NUL, control characters or no end: InvalidArgument", func(t *tester) error {
		for _, id := range []string{"abcd\x00ef0", "ab\x01cd", strings.Repeat("ab", 5000), "abcdefgh\n"} {
			for _, kind := range []pb.BuildIDType{0, gnu} {
				_, err := t.ask(&agent.File{BuildID: id, Kind: kind}, question{})
				if err := wantCode(err, codes.InvalidArgument, ""); err != nil {
					return fmt.Errorf("%.20q, kind %d: %w", id, kind, err)
				}
			}
		}
		return nil
	}},
}

// --- InitiateUpload ---------------------------------------------------------------------------------

func variation(t *tester, change func(*agent.File)) *agent.File {
	file := t.fresh()
	change(file)
	return file
}

var initiations = []row{
	{"InitiateUpload, no hash: InvalidArgument, hash must be set", func(t *tester) error {
		return t.wantInitiate(variation(t, func(f *agent.File) { f.Hash = "" }), codes.InvalidArgument, "hash must be set")
	}},
	{"InitiateUpload, no size: InvalidArgument, size must be set", func(t *tester) error {
		return t.wantInitiate(variation(t, func(f *agent.File) { f.Size = 0 }), codes.InvalidArgument, "size must be set")
	}},
	{"InitiateUpload, negative size: InvalidArgument", func(t *tester) error {
		return t.wantInitiate(variation(t, func(f *agent.File) { f.Size = -5 }), codes.InvalidArgument, "negative")
	}},
	{"InitiateUpload, size over the maximum: InvalidArgument that names both sizes, and nothing begins", func(t *tester) error {
		file := variation(t, func(f *agent.File) { f.Size = 1 << 50 })
		return first(t.wantInitiate(file, codes.InvalidArgument,
			"upload size 1125899906842624 exceeds maximum allowed size 4294967296"),
			t.wantAnswer(file, question{}, true, firstTimeSeen))
	}},
	{"InitiateUpload, accepted: id of the request, UUIDv4, strategy GRPC, no URL, type of the request", func(t *tester) error {
		file := variation(t, func(f *agent.File) { f.Type = executable })
		told, err := t.initiate(file, false)
		if err != nil {
			return err
		}
		if told.BuildId != file.BuildID || !uuid4.MatchString(told.UploadId) || told.SignedUrl != "" ||
			told.UploadStrategy != pb.UploadInstructions_UPLOAD_STRATEGY_GRPC || told.Type != executable {
			return fmt.Errorf("got %v", told)
		}
		return nil
	}},
	{"InitiateUpload, uploading: FailedPrecondition with the reason", func(t *tester) error {
		file, _, err := t.started()
		return first(err, t.wantInitiate(file, codes.FailedPrecondition, refusedWith+inProgress))
	}},
	{"InitiateUpload, uploaded: FailedPrecondition with the reason", func(t *tester) error {
		file, err := t.stored()
		return first(err, t.wantInitiate(file, codes.FailedPrecondition, refusedWith+exists))
	}},
	{"InitiateUpload, forced over an upload in progress: accepted, and the older one can no longer be sent or finished", func(t *tester) error {
		file, old, err := t.started()
		if err != nil {
			return err
		}
		told, err := t.initiate(file, true)
		if err != nil {
			return err
		}
		_, sent := t.Send(t.ctx, old, file.Open(), agent.ChunkSize)
		if err := first(wantCode(sent, codes.InvalidArgument, "the upload ID does not match"),
			wantCode(t.finish(file, old.UploadId, 0), codes.InvalidArgument, "upload id mismatch")); err != nil {
			return err
		}
		_, err = t.Send(t.ctx, told, file.Open(), agent.ChunkSize)
		return first(err, t.finish(file, told.UploadId, 0), t.wantAnswer(file, question{}, false, exists))
	}},
	{"InitiateUpload, 50 at once on one connection: one wins, the others get FailedPrecondition, the winner's upload ends well", func(t *tester) error {
		file := t.fresh()
		var group sync.WaitGroup
		told := make([]*pb.UploadInstructions, 50)
		errs := make([]error, len(told))
		for i := range told {
			group.Go(func() { told[i], errs[i] = t.initiate(file, false) })
		}
		group.Wait()
		var winner *pb.UploadInstructions
		for i := range told {
			if errs[i] != nil {
				if err := wantCode(errs[i], codes.FailedPrecondition, inProgress); err != nil {
					return err
				}
			} else if winner != nil {
				return fmt.Errorf("two won")
			} else {
				winner = told[i]
			}
		}
		if winner == nil {
			return fmt.Errorf("nobody won")
		}
		_, err := t.Send(t.ctx, winner, file.Open(), agent.ChunkSize)
		return first(err, t.finish(file, winner.UploadId, 0))
	}},
	{"InitiateUpload, each type of a build ID is an upload of its own", func(t *tester) error {
		file := t.fresh()
		for _, kind := range []pb.DebuginfoType{debugFile, executable, sources} {
			file.Type = kind
			if err := first(t.wantAnswer(file, question{}, true, firstTimeSeen), t.store(file, false),
				t.wantAnswer(file, question{}, false, exists)); err != nil {
				return fmt.Errorf("%v: %w", kind, err)
			}
		}
		return nil
	}},
	{"InitiateUpload, a source map under its debug ID", func(t *tester) error {
		data := bytes.Repeat([]byte("{}"), 100000)
		file := fileOf("0b5f4f2c-6a43-4b6f-9f2e-0d8f3f6f6f10", data)
		file.Kind, file.Type = pb.BuildIDType_BUILD_ID_TYPE_SOURCE_MAP_DEBUG_ID, sourceMap
		return first(t.store(file, false), t.wantAnswer(file, question{}, false, exists))
	}},
	{"InitiateUpload, kind HASH: the agent's FileID of the whole file", func(t *tester) error {
		data := bytes.Replace(t.main.data, t.main.buildID, []byte("abcdefghij0123456789"), 1)
		file := fileOf(agent.FileID(data), data)
		file.Kind = pb.BuildIDType_BUILD_ID_TYPE_HASH
		return first(t.wantAnswer(file, question{}, true, firstTimeSeen), t.store(file, false),
			t.wantAnswer(file, question{}, false, exists),
			t.wantAnswer(&agent.File{BuildID: hex.EncodeToString([]byte("abcdefghij0123456789")), Kind: gnu},
				question{}, false, exists))
	}},
	{"InitiateUpload, a Go id with slashes is an id like others", func(t *tester) error {
		file := t.fresh()
		file.BuildID, file.Kind = "aB3xkQ9_z-Z1/p0rw8aaaaaaaa/../xyzzyxyzzy", pb.BuildIDType_BUILD_ID_TYPE_GO
		return first(t.wantAnswer(file, question{}, true, firstTimeSeen), wantCode(t.store(file, false), codes.InvalidArgument, ""))
	}},
}

// --- Upload -----------------------------------------------------------------------------------------

func (t *tester) openStream(ctx context.Context) (grpc.ClientStreamingClient[pb.UploadRequest, pb.UploadResponse], error) {
	return t.Client.Upload(ctx, grpc.MaxCallSendMsgSize(80<<20))
}

// leaving is a reader in the middle of which the call is given up.
type leaving struct{ cancel context.CancelFunc }

func (l *leaving) Read(into []byte) (int, error) {
	l.cancel()
	clear(into)
	return len(into), nil
}

func padded(file *agent.File, size int64) {
	plain, padding := file.Open, size-file.Size
	file.Size = size
	file.Open = func() io.Reader { return io.MultiReader(plain(), io.LimitReader(zeros{}, padding)) }
}

var streams = []row{
	{"Upload, short id: InvalidArgument", func(t *tester) error {
		_, err := t.Send(t.ctx, &pb.UploadInstructions{BuildId: "a", UploadId: "x"}, bytes.NewReader(nil), 1)
		return wantCode(err, codes.InvalidArgument, "unexpectedly short input")
	}},
	{"Upload, nothing initiated: FailedPrecondition, also while 8 MiB chunks are on their way", func(t *tester) error {
		file := t.fresh()
		_, err := t.Send(t.ctx, &pb.UploadInstructions{BuildId: file.BuildID, UploadId: "11111111-2222-4333-8444-555555555555"},
			io.LimitReader(zeros{}, 256<<20), agent.ChunkSize)
		return wantCode(err, codes.FailedPrecondition, "")
	}},
	{"Upload, another upload id: InvalidArgument in Parca's words, also while 8 MiB chunks are on their way", func(t *tester) error {
		_, told, err := t.started()
		if err != nil {
			return err
		}
		told.UploadId = "11111111-2222-4333-8444-555555555555"
		_, err = t.Send(t.ctx, told, io.LimitReader(zeros{}, 256<<20), agent.ChunkSize)
		return wantCode(err, codes.InvalidArgument,
			"the upload ID does not match the one returned by the InitiateUpload call")
	}},
	{"Upload answers the id and the number of bytes; chunks of 8 MiB", func(t *tester) error {
		file := t.fresh()
		padded(file, 40<<20)
		told, err := t.initiate(file, false)
		if err != nil {
			return err
		}
		answer, err := t.Send(t.ctx, told, file.Open(), agent.ChunkSize)
		if err == nil && (answer.BuildId != file.BuildID || answer.Size != 40<<20) {
			err = fmt.Errorf("got %v", answer)
		}
		return first(err, t.finish(file, told.UploadId, 0))
	}},
	{"Upload, one message of 63 MiB: taken", func(t *tester) error {
		file := t.fresh()
		padded(file, 63<<20)
		told, err := t.initiate(file, false)
		if err != nil {
			return err
		}
		answer, err := t.Send(t.ctx, told, file.Open(), 64<<20)
		if err == nil && answer.Size != 63<<20 {
			err = fmt.Errorf("got %v", answer)
		}
		return err
	}},
	{"Upload, a message over 64 MiB: ResourceExhausted, and smaller ones are taken afterwards", func(t *tester) error {
		file := t.fresh()
		padded(file, 65<<20)
		told, err := t.initiate(file, false)
		if err != nil {
			return err
		}
		stream, err := t.openStream(t.ctx)
		if err != nil {
			return err
		}
		stream.Send(&pb.UploadRequest{Data: &pb.UploadRequest_Info{Info: &pb.UploadInfo{
			UploadId: told.UploadId, BuildId: told.BuildId}}})
		stream.Send(&pb.UploadRequest{Data: &pb.UploadRequest_ChunkData{ChunkData: make([]byte, 65<<20)}})
		_, err = stream.CloseAndRecv()
		if err := wantCode(err, codes.ResourceExhausted, ""); err != nil {
			return err
		}
		_, err = t.Send(t.ctx, told, file.Open(), agent.ChunkSize)
		return first(err, t.finish(file, told.UploadId, 0))
	}},
	{"Upload, more bytes than declared: InvalidArgument in mid-stream, and the right ones are taken afterwards", func(t *tester) error {
		file, told, err := t.started()
		if err != nil {
			return err
		}
		_, err = t.Send(t.ctx, told, io.MultiReader(file.Open(), io.LimitReader(zeros{}, 200<<20)), agent.ChunkSize)
		if err := wantCode(err, codes.InvalidArgument, "more bytes"); err != nil {
			return err
		}
		_, err = t.Send(t.ctx, told, file.Open(), agent.ChunkSize)
		return first(err, t.finish(file, told.UploadId, 0))
	}},
	{"Upload, fewer bytes than declared: InvalidArgument, and the right ones are taken afterwards", func(t *tester) error {
		file, told, err := t.started()
		if err != nil {
			return err
		}
		_, err = t.Send(t.ctx, told, io.LimitReader(file.Open(), file.Size-1), agent.ChunkSize)
		if err := wantCode(err, codes.InvalidArgument, "declared size"); err != nil {
			return err
		}
		_, err = t.Send(t.ctx, told, file.Open(), agent.ChunkSize)
		return first(err, t.finish(file, told.UploadId, 0))
	}},
	{"Upload, chunks before the info, no message at all, or the info twice: InvalidArgument", func(t *tester) error {
		_, told, err := t.started()
		if err != nil {
			return err
		}
		info := &pb.UploadRequest{Data: &pb.UploadRequest_Info{Info: &pb.UploadInfo{
			UploadId: told.UploadId, BuildId: told.BuildId}}}
		chunk := &pb.UploadRequest{Data: &pb.UploadRequest_ChunkData{ChunkData: []byte("x")}}
		for _, messages := range [][]*pb.UploadRequest{{chunk}, {}, {info, info}} {
			stream, err := t.openStream(t.ctx)
			if err != nil {
				return err
			}
			for _, message := range messages {
				stream.Send(message)
			}
			_, err = stream.CloseAndRecv()
			if err := wantCode(err, codes.InvalidArgument, ""); err != nil {
				return fmt.Errorf("%d messages: %w", len(messages), err)
			}
		}
		return nil
	}},
	{"Upload, given up by its client in the middle: may be sent again at once", func(t *tester) error {
		file := t.fresh()
		padded(file, 20<<20)
		told, err := t.initiate(file, false)
		if err != nil {
			return err
		}
		for i := range 20 {
			ctx, cancel := context.WithCancel(t.ctx)
			_, err := t.Send(ctx, told, io.MultiReader(io.LimitReader(zeros{}, 8<<20), &leaving{cancel}),
				agent.ChunkSize)
			if err := wantCode(err, codes.Canceled, ""); err != nil {
				return fmt.Errorf("stream %d: %w", i, err)
			}
		}
		// The cancellations travel on this connection, so they are read before what follows.
		_, err = t.Send(t.ctx, told, file.Open(), agent.ChunkSize)
		return first(err, t.finish(file, told.UploadId, 0))
	}},
	{"Upload, a deadline that passes in the middle: DeadlineExceeded, and it may be sent again", func(t *tester) error {
		file, told, err := t.started()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.ctx, 300*time.Millisecond)
		defer cancel()
		_, err = t.Send(ctx, told, &slow{file.Open()}, 1024)
		if err := wantCode(err, codes.DeadlineExceeded, ""); err != nil {
			return err
		}
		_, err = t.Send(t.ctx, told, file.Open(), agent.ChunkSize)
		return first(err, t.finish(file, told.UploadId, 0))
	}},
	{"Upload, 120 streams open on one connection: all end well", func(t *tester) error {
		files := make([]*agent.File, 120)
		for i := range files {
			files[i] = t.fresh()
		}
		var group sync.WaitGroup
		errs := make([]error, len(files))
		for i, file := range files {
			group.Go(func() { errs[i] = t.Agent.Upload(t.ctx, file) })
		}
		group.Wait()
		return first(errs...)
	}},
}

// --- MarkUploadFinished, and after ------------------------------------------------------------------

var endings = []row{
	{"MarkUploadFinished, nothing initiated: NotFound in Parca's words", func(t *tester) error {
		return wantCode(t.finish(t.fresh(), "11111111-2222-4333-8444-555555555555", 0), codes.NotFound,
			"no debuginfo upload metadata found for build id")
	}},
	{"MarkUploadFinished, another upload id: InvalidArgument, upload id mismatch", func(t *tester) error {
		file, _, err := t.started()
		return first(err, wantCode(t.finish(file, "11111111-2222-4333-8444-555555555555", 0), codes.InvalidArgument,
			"upload id mismatch"))
	}},
	{"MarkUploadFinished, no bytes came: FailedPrecondition, and they may still come", func(t *tester) error {
		file, told, err := t.started()
		if err != nil {
			return err
		}
		if err := wantCode(t.finish(file, told.UploadId, 0), codes.FailedPrecondition, ""); err != nil {
			return err
		}
		_, err = t.Send(t.ctx, told, file.Open(), agent.ChunkSize)
		return first(err, t.finish(file, told.UploadId, 0))
	}},
	{"MarkUploadFinished without a type, as agents send it, ends an upload of type 0 only", func(t *tester) error {
		file := t.fresh()
		file.Type = executable
		told, err := t.initiate(file, false)
		if err != nil {
			return err
		}
		_, err = t.Send(t.ctx, told, file.Open(), agent.ChunkSize)
		return first(err, wantCode(t.finish(file, told.UploadId, 0), codes.NotFound, ""),
			t.finish(file, told.UploadId, executable))
	}},
	{"MarkUploadFinished, twice: once", func(t *tester) error {
		file, told, err := t.started()
		if err != nil {
			return err
		}
		_, err = t.Send(t.ctx, told, file.Open(), agent.ChunkSize)
		return first(err, t.finish(file, told.UploadId, 0), t.finish(file, told.UploadId, 0))
	}},
	{"MarkUploadFinished, the file has another build ID inside: InvalidArgument", func(t *tester) error {
		file := t.fresh()
		file.BuildID = "00112233445566778899aabbccddeeff00112233"
		return wantCode(t.store(file, false), codes.InvalidArgument, "build ID")
	}},
	{"a forced upload in progress, and one that fails, leave the stored object in place", func(t *tester) error {
		file, err := t.stored()
		if err != nil {
			return err
		}
		if _, err = control.Ask("serves", file.BuildID); err != nil {
			return err
		}
		told, err := t.initiate(file, true)
		if err != nil {
			return err
		}
		if _, err = control.Ask("serves", file.BuildID); err != nil {
			return fmt.Errorf("while uploading: %w", err)
		}
		_, err = t.Send(t.ctx, told, io.LimitReader(zeros{}, file.Size), agent.ChunkSize)
		if err := first(err, wantCode(t.finish(file, told.UploadId, 0), codes.InvalidArgument, "")); err != nil {
			return err
		}
		if _, err = control.Ask("serves", file.BuildID); err != nil {
			return fmt.Errorf("after the failure: %w", err)
		}
		return nil
	}},
	{"services that are not here, on the same address: Unimplemented, and the connection stays", func(t *tester) error {
		for _, method := range []string{"/parca.profilestore.v1alpha1.ProfileStoreService/Write",
			"/parca.debuginfo.v1alpha1.DebuginfoService/Download"} {
			err := t.Connection.Invoke(t.ctx, method, &pb.MarkUploadFinishedResponse{}, &pb.MarkUploadFinishedResponse{})
			if err := wantCode(err, codes.Unimplemented, ""); err != nil {
				return err
			}
		}
		stream, err := t.Connection.NewStream(t.ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
			"/parca.profilestore.v1alpha1.ProfileStoreService/WriteArrow")
		if err == nil {
			err = stream.RecvMsg(&pb.MarkUploadFinishedResponse{})
		}
		return first(wantCode(err, codes.Unimplemented, ""), t.wantAnswer(t.fresh(), question{}, true, firstTimeSeen))
	}},
	{"a restart cuts an upload off: the client is told, finds the server again, and may begin anew", func(t *tester) error {
		file, told, err := t.started()
		if err != nil {
			return err
		}
		stream, err := t.openStream(t.ctx)
		if err == nil {
			err = stream.Send(&pb.UploadRequest{Data: &pb.UploadRequest_Info{Info: &pb.UploadInfo{
				UploadId: told.UploadId, BuildId: told.BuildId}}})
		}
		if err != nil {
			return err
		}
		address, err := control.Ask("restart")
		if err != nil {
			return err
		}
		_, err = stream.CloseAndRecv()
		if status.Code(err) != codes.Unavailable {
			return fmt.Errorf("the stream that was cut off: %v", err)
		}
		t.Close()
		if t.Agent, err = agent.Dial(address); err != nil {
			return err
		}
		return first(t.wantAnswer(file, question{}, true, stale), t.store(file, false),
			t.wantAnswer(file, question{}, false, exists))
	}},
}
