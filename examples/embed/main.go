// Command embed is a shop: a small service whose orders survive every crash.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/local"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *addr); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, addr string) error {
	eng, err := local.Open(ctx, "sqlite:./data/shop.db", culm.Config{
		Tools:     []tool.Tool{charge("ledger.txt"), mail("outbox.txt")},
		Authority: run.Authority{Trusted: true, Allow: []string{tool.CapWrite}},
	})
	if err != nil {
		return err
	}
	defer eng.Close(context.Background()) // lets calls in flight end
	if err := takeUp(ctx, eng); err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("listening on http://" + l.Addr().String())
	server := &http.Server{Handler: shop(eng)}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.Background()) })
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// takeUp goes on with what earlier processes left behind, whether they died or were
// stopped.
func takeUp(ctx context.Context, eng *culm.Engine) error {
	if _, err := eng.Recover(ctx); err != nil {
		return err
	}
	left := store.Query{Kind: "run", Status: []string{string(run.StatusSuspended)}}
	for more := true; more; more = left.Cursor != "" {
		page, err := eng.List(ctx, left)
		if err != nil {
			return err
		}
		for _, r := range page.Runs {
			_, err := eng.Continue(ctx, r.RunID, culm.ContinueOptions{Rerun: []tool.Effect{tool.Idempotent}})
			if err != nil { // such as a charge in doubt: a person decides
				log.Printf("order %s waits: %v", r.RunID, err)
			}
		}
		left.Cursor = page.Next
	}
	return nil
}
