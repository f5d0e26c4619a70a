package sqlite_test
import ("testing";"fmt";"time";"os")
func BenchmarkPhase(b *testing.B){
 s:=openBench(b); c:=newCommitter(b,s,"s"); e:=benchEvent(); _ = os.Args
 for b.Loop(){ 
  var v []float64
  for i:=0;i<2000;i++{ t:=time.Now(); c(e); v=append(v,time.Since(t).Seconds()*1e6) }
  m:=median(v); fmt.Printf("median %.1f p10 %.1f p90 %.1f\n", m, v[len(v)/10], v[len(v)*9/10])
 }
}
