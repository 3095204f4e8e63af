package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"

	"symbolizer.test/grpc_go/agent"
	pb "symbolizer.test/grpc_go/debuginfo"
)

// put is the agent's PUT; a negative size sends it in chunks, as parca-debuginfo does.
func put(url string, body io.Reader, size int64) (int, string, error) {
	request, err := http.NewRequest(http.MethodPut, url, io.NopCloser(body))
	if err != nil {
		return 0, "", err
	}
	request.ContentLength = size
	client, err := agent.HTTPClient()
	if err != nil {
		return 0, "", err
	}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func wantPut(url string, body io.Reader, size int64, wanted ...int) error {
	code, text, err := put(url, body, size)
	for _, one := range wanted {
		if err == nil && code == one {
			return nil
		}
	}
	return fmt.Errorf("got %d %q %v, want one of %v", code, text, err, wanted)
}

func (t *tester) signed() (*agent.File, *pb.UploadInstructions, error) {
	file, told, err := t.started()
	if err == nil && (told.UploadStrategy != pb.UploadInstructions_UPLOAD_STRATEGY_SIGNED_URL ||
		!strings.HasPrefix(told.SignedUrl, agent.Scheme()+"://") || !uuid4.MatchString(told.UploadId)) {
		err = fmt.Errorf("got %v", told)
	}
	return file, told, err
}

var signedRows = []row{
	{"signed mode, InitiateUpload: strategy SIGNED_URL and a URL; Upload is Unimplemented", func(t *tester) error {
		file, told, err := t.signed()
		if err != nil {
			return err
		}
		_, err = t.Send(t.ctx, told, file.Open(), agent.ChunkSize)
		return wantCode(err, codes.Unimplemented, "")
	}},
	{"signed mode, PUT with Content-Length, as the agent: 200, and the upload ends well", func(t *tester) error {
		file, told, err := t.signed()
		return first(err, wantPut(told.GetSignedUrl(), file.Open(), file.Size, 200),
			t.finish(file, told.GetUploadId(), 0), t.wantAnswer(file, question{}, false, exists))
	}},
	{"signed mode, PUT in chunks, as parca-debuginfo: 200, and the upload ends well", func(t *tester) error {
		file, told, err := t.signed()
		return first(err, wantPut(told.GetSignedUrl(), file.Open(), -1, 200),
			t.finish(file, told.GetUploadId(), 0), t.wantAnswer(file, question{}, false, exists))
	}},
	{"signed mode, finishing before the PUT: FailedPrecondition, and the PUT may still come", func(t *tester) error {
		file, told, err := t.signed()
		return first(err, wantCode(t.finish(file, told.GetUploadId(), 0), codes.FailedPrecondition, ""),
			wantPut(told.GetSignedUrl(), file.Open(), file.Size, 200), t.finish(file, told.GetUploadId(), 0))
	}},
	{"signed mode, a URL takes bytes once, before and after the end", func(t *tester) error {
		file, told, err := t.signed()
		return first(err, wantPut(told.GetSignedUrl(), file.Open(), file.Size, 200),
			wantPut(told.GetSignedUrl(), file.Open(), file.Size, 403, 409, 410),
			t.finish(file, told.GetUploadId(), 0),
			wantPut(told.GetSignedUrl(), file.Open(), file.Size, 403, 404, 409, 410),
			t.wantAnswer(file, question{}, false, exists))
	}},
	{"signed mode, more or fewer bytes than declared are refused, with a length and in chunks", func(t *tester) error {
		for _, change := range []int64{1, -1} {
			for _, chunked := range []bool{false, true} {
				file, told, err := t.signed()
				if err != nil {
					return err
				}
				size := file.Size + change
				body := io.LimitReader(io.MultiReader(file.Open(), zeros{}), size)
				if chunked {
					size = -1
				}
				if err := wantPut(told.SignedUrl, body, size, 400, 413); err != nil {
					return fmt.Errorf("%+d, chunked %v: %w", change, chunked, err)
				}
			}
		}
		return nil
	}},
	{"signed mode, a URL with one character changed is refused, each in turn", func(t *tester) error {
		_, told, err := t.signed()
		if err != nil {
			return err
		}
		start := strings.Index(told.SignedUrl, "?")
		for i := start + 1; i < len(told.SignedUrl); i++ {
			changed := []byte(told.SignedUrl)
			if changed[i]++; strings.ContainsRune("=&#%+", rune(changed[i])) {
				continue
			}
			if err := wantPut(string(changed), bytes.NewReader([]byte("x")), 1, 400, 401, 403); err != nil {
				return fmt.Errorf("%s: %w", changed, err)
			}
		}
		return nil
	}},
	{"signed mode, 30 PUTs of one URL at once: one is 200", func(t *tester) error {
		file, told, err := t.signed()
		if err != nil {
			return err
		}
		var group sync.WaitGroup
		counts := make(chan int, 30)
		for range cap(counts) {
			group.Go(func() {
				code, _, _ := put(told.SignedUrl, file.Open(), file.Size)
				counts <- code
			})
		}
		group.Wait()
		close(counts)
		seen := map[int]int{}
		for code := range counts {
			seen[code]++
		}
		if seen[200] != 1 {
			return fmt.Errorf("statuses %v", seen)
		}
		return t.finish(file, told.UploadId, 0)
	}},
}
