// A storm of new connections: each client connects from an address of its own, runs one statement, and goes.
//
// Every second it prints how many did, how many failed, and the 95th percentile of how long they took.
package main

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"sort"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

type report struct {
	Commits   int     `json:"commits"`
	Failed    int     `json:"failed"`
	Latency95 float64 `json:"latency_95_ms"`
	Failure   string  `json:"failure,omitempty"`
}

type counts struct {
	sync.Mutex
	took    []float64
	failed  int
	failure string
}

// sources are those of the loopback network: servers take 127.0.0.1 for themselves, and look up no name for it.
func source(client int) string {
	return fmt.Sprintf("127.0.%d.%d", 1+client/250, 2+client%250)
}

func visit(dsn string, statement string) error {
	connection, err := mysql.MySQLDriver{}.Open(dsn)
	if err != nil {
		return err
	}
	defer connection.Close()
	_, err = connection.(driver.ExecerContext).ExecContext(context.Background(), statement, nil)
	return err
}

func client(number int, address string, user string, database string, all *counts) {
	network := fmt.Sprintf("from%d", number)
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source(number))}, Timeout: 10 * time.Second}
	mysql.RegisterDialContext(network, func(ctx context.Context, to string) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", to)
	})
	dsn := fmt.Sprintf("%s@%s(%s)/%s", user, network, address, database)
	statement := fmt.Sprintf("UPDATE visits SET visits = visits + 1 WHERE id = %d", number+1)
	for {
		began := time.Now()
		err := visit(dsn, statement)
		took := float64(time.Since(began).Microseconds()) / 1000
		all.Lock()
		if err == nil {
			all.took = append(all.took, took)
		} else {
			all.failed++
			all.failure = err.Error()
		}
		all.Unlock()
		if err != nil {
			// As an application would that is refused.
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func main() {
	address := flag.String("address", "127.0.0.1:3306", "of the server")
	user := flag.String("user", "redolab", "who connects")
	database := flag.String("database", "redolab", "in which the table visits is")
	clients := flag.Int("clients", 64, "how many connect at a time")
	every := flag.Duration("every", time.Second, "between reports")
	flag.Parse()
	_ = mysql.SetLogger(discard{})
	var all counts
	for number := 0; number < *clients; number++ {
		go client(number, *address, *user, *database, &all)
	}
	output := json.NewEncoder(os.Stdout)
	for range time.Tick(*every) {
		all.Lock()
		took, now := all.took, report{Commits: len(all.took), Failed: all.failed, Failure: all.failure}
		all.took, all.failed, all.failure = nil, 0, ""
		all.Unlock()
		if len(took) > 0 {
			sort.Float64s(took)
			now.Latency95 = took[len(took)*95/100]
		}
		if output.Encode(now) != nil {
			return
		}
	}
}

type discard struct{}

func (discard) Print(...any) {}
