def write(study, tasks, out, quick):
    import json

    from . import measures

    for t in tasks:
        r = study.records.get(t.key)
        if r is None:
            continue
        solo = [x for k, x in study.records.items() if k[0] == f"{t.scenario.setting.name}: alone"]
        m = measures.measured(r, measures.alone_ms(solo))
        print(t.key, json.dumps(m))
        for e in r["events"]:
            print("   ", e)
