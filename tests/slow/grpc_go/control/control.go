// Package control is how a Go program of the tests speaks with the script that runs it: TAP goes to
// standard output and is passed on; a line that begins with "!" asks the script for something only
// it can do, and its answer comes as one line on standard input.
package control

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

var (
	input = bufio.NewReader(os.Stdin)
	lock  sync.Mutex
)

// Ask prints "!words" and returns the script's answer.
func Ask(words ...string) (string, error) {
	lock.Lock()
	defer lock.Unlock()
	fmt.Println("!" + strings.Join(words, " "))
	line, err := input.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("no answer from the script: %w", err)
	}
	answer := strings.TrimSpace(line)
	if reason, failed := strings.CutPrefix(answer, "failed "); failed {
		return "", fmt.Errorf("the script failed: %s", reason)
	}
	return answer, nil
}

// Tell prints "!words", to which no answer comes.
func Tell(words ...string) {
	lock.Lock()
	defer lock.Unlock()
	fmt.Println("!" + strings.Join(words, " "))
}

// WaitForEnd returns when the script has closed standard input.
func WaitForEnd() { io.Copy(io.Discard, input) }

// Note prints a TAP diagnostic.
func Note(format string, arguments ...any) {
	lock.Lock()
	defer lock.Unlock()
	fmt.Printf("# "+format+"\n", arguments...)
}
