import json, time, tracemalloc, asyncio
import psycopg
from tests.api.serving import Api, served
import httpx2, resource, os

async def test_big(api: Api, database_url: str, address: str) -> None:
    play = await api.played()
    await play.start(); await play.plan("t1"); await play.start_task("t1")
    n = 30000
    data = play.reply("work","t1",1).data.model_dump(mode="json") | {"stop_reason":"tool_use","content":[{"type":"tool_use","id":"c","name":"x","input":{"a":"y"*800}}], "opening":None}
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as c:
        # many attempts of few calls each
        await c.execute("""INSERT INTO events (run_id,seq,type,at,task_id,attempt,data)
          SELECT %s, g, 'llm.completed', now(), 't1', 1 + g/20, CAST(%s AS json) FROM generate_series(6,%s) g""",(play.run_id,json.dumps(data),n))
        await c.execute("UPDATE runs SET last_seq=%s WHERE id=%s",(n,play.run_id))
    def rss():
        return int(open("/proc/self/statm").read().split()[1])*4096/1e6
    for q in ("", "?include=content"):
        gaps=[0.0]; stop=False
        async def tick():
            last=time.perf_counter()
            while not stop:
                await asyncio.sleep(0)  # watches
                now=time.perf_counter(); gaps[0]=max(gaps[0],now-last); last=now
        before=rss(); t=time.time(); size=0; peak=0
        async with httpx2.AsyncClient(base_url=address,timeout=300) as cl:
            async with cl.stream("GET",f"/v1/runs/{play.run_id}/trace{q}") as r:
                async for b in r.aiter_bytes():
                    size+=len(b); peak=max(peak,rss())
        print("TRACE",q,size/1e6,"MB",round(time.time()-t,2),"s rss",before,"->",peak)
