package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"symbolizer.test/grpc_go/agent"
	"symbolizer.test/grpc_go/control"
	pb "symbolizer.test/grpc_go/debuginfo"
)

const connectionCount = 10 // that many uploads share

// held is a reader that gives nothing more until every upload has sent its first half.
type held struct {
	io.Reader
	wait func()
}

func (h *held) Read(into []byte) (int, error) {
	if h.wait != nil {
		h.wait()
		h.wait = nil
	}
	return h.Reader.Read(into)
}

// many has all streams open and half sent at one moment, which the script is told of.
func many(address string, source *program, argument string) error {
	count, err := strconv.Atoi(argument)
	if err != nil {
		return err
	}
	agents := make([]*agent.Agent, connectionCount)
	for i := range agents {
		if agents[i], err = agent.Dial(address); err != nil {
			return err
		}
		defer agents[i].Close()
	}
	var open, all sync.WaitGroup
	proceed := make(chan struct{})
	failures := make(chan error, count)
	open.Add(count)
	for i := range count {
		all.Go(func() {
			failures <- uploadHeld(agents[i%connectionCount], source.variant(i), &open, proceed)
		})
	}
	open.Wait()
	_, err = control.Ask("half")
	close(proceed)
	all.Wait()
	close(failures)
	failed := 0
	for failure := range failures {
		if failure != nil {
			failed++
			control.Note("%v", failure)
		}
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d uploads failed", failed, count)
	}
	return err
}

// uploadHeld pads the file so that it takes two chunks, and holds the second one.
func uploadHeld(a *agent.Agent, file *agent.File, open *sync.WaitGroup, proceed chan struct{}) error {
	ctx, cancel := agent.Context()
	defer cancel()
	plain := file.Open
	padding := agent.ChunkSize/64 - int(file.Size)
	file.Size += int64(padding)
	var once sync.Once
	defer once.Do(open.Done)
	file.Open = func() io.Reader {
		tail := &held{bytes.NewReader(make([]byte, padding)), func() {
			once.Do(open.Done)
			<-proceed
		}}
		return io.MultiReader(plain(), tail)
	}
	return a.UploadInChunks(ctx, file, int(file.Size)-padding)
}

// idle keeps the connections until the script has looked.
func idle(address, argument string) error {
	count, err := strconv.Atoi(argument)
	if err != nil {
		return err
	}
	ask := func(a *agent.Agent, number int) error {
		ctx, cancel := agent.Context()
		defer cancel()
		_, err := a.Client.ShouldInitiateUpload(ctx, &pb.ShouldInitiateUploadRequest{
			BuildId: fmt.Sprintf("%040x", 0xabcdef000000+number)})
		return err
	}
	var agents []*agent.Agent
	for i := range count {
		a, err := agent.Dial(address)
		if err != nil {
			return err
		}
		defer a.Close()
		if err := ask(a, i); err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
		agents = append(agents, a)
	}
	if _, err := control.Ask("idle"); err != nil {
		return err
	}
	for i, a := range agents {
		if err := ask(a, i); err != nil {
			return fmt.Errorf("connection %d, asked again: %w", i, err)
		}
	}
	return nil
}

// slow gives a kilobyte a second.
type slow struct{ io.Reader }

func (s *slow) Read(into []byte) (int, error) {
	time.Sleep(time.Second)
	return s.Reader.Read(into[:min(len(into), 1024)])
}

func trickle(address string, source *program, argument string) error {
	seconds, err := strconv.Atoi(argument)
	if err != nil {
		return err
	}
	a, err := agent.Dial(address)
	if err != nil {
		return err
	}
	defer a.Close()
	file := source.variant(777777)
	plain := file.Open
	padding := seconds * 1024
	file.Size += int64(padding)
	file.Open = func() io.Reader {
		return io.MultiReader(plain(), &slow{bytes.NewReader(make([]byte, padding))})
	}
	ctx, cancel := agent.Context()
	defer cancel()
	return a.UploadInChunks(ctx, file, 1024)
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

// large notes the time from the first question to the last answer.
func large(address string, source *program, argument string) error {
	size, err := strconv.ParseInt(argument, 10, 64)
	if err != nil {
		return err
	}
	a, err := agent.Dial(address)
	if err != nil {
		return err
	}
	defer a.Close()
	file := source.variant(888888)
	plain := file.Open
	padding := size - file.Size
	file.Size = size
	file.Open = func() io.Reader {
		return io.MultiReader(plain(), io.LimitReader(zeros{}, padding))
	}
	ctx, cancel := agent.Context()
	defer cancel()
	start := time.Now()
	err = a.Upload(ctx, file)
	control.Note("%d bytes over gRPC in chunks of %d: %.2f s", size, agent.ChunkSize,
		time.Since(start).Seconds())
	return err
}
