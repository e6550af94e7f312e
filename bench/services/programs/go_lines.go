// A Go service. LEAK: bytes that each request leaves in a slice.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
)

var (
	lock sync.Mutex
	kept [][]byte
)

func main() {
	leak, _ := strconv.Atoi(os.Getenv("LEAK"))
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		var text strings.Builder
		for i := 0; i < 2000; i++ {
			fmt.Fprintf(&text, "line %d\n", i)
		}
		if leak > 0 {
			block := make([]byte, leak)
			for i := range block {
				block[i] = 1
			}
			lock.Lock()
			kept = append(kept, block)
			lock.Unlock()
		}
		fmt.Fprint(w, text.String())
	})
	http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
