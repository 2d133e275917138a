//! Parameters of the command line, kernels side by side, and what the papers' claims make of it.

use super::{Lab, STOCK, wanted};
use serde_json::Value;

#[test]
fn timers_on_the_tick_are_another_kernel_whose_jitter_is_of_milliseconds() {
    if !wanted() {
        return;
    }
    let lab = Lab::new();
    let text = format!(
        "name = \"ticks\"\ntargets = [\"lab:{STOCK}\"]\nboot = [\"highres=off\", \"\"]\nrepetitions = 3\nscale = 0.25\n\
         [[tests]]\ntest = \"periodic\"\ninterval = \"19ms\"\nduration = \"4s\"\n\
         [[tests]]\ntest = \"timer\"\nduration = \"800ms\"\n"
    );
    let plan = lab.0.file("ticks.toml", text);
    lab.run(&["campaign", "run", plan.to_str().unwrap(), "--quiet"]).ends_with(0);
    let found: Value =
        serde_json::from_str(&lab.line("papers --paper vinh-chau --paper balci-2017 --json").ends_with(0).out).unwrap();
    assert_eq!(found["runs"], 12);
    let claim = |id: &str| found["claims"].as_array().unwrap().iter().find(|c| c["id"] == id).unwrap();
    let ticks = claim("high-resolution-timers-lower-jitter");
    assert_eq!((&ticks["answer"], ticks["held"].as_array().unwrap().len()), (&"confirmed".into(), 2), "{ticks}");
    for held in ticks["held"].as_array().unwrap() {
        // Debian's tick is every 4 ms.
        let [off, on] = [0, 1].map(|i| held["figures"][i].as_f64().unwrap());
        assert!((1e6..4e6).contains(&off) && on < 1e5, "{held}");
    }
    assert_eq!(claim("rt-lowers-maximum")["answer"], "not-enough-data");
    let own: Vec<&Value> =
        found["papers"][0]["tables"][0]["rows"].as_array().unwrap().iter().filter(|r| r["own"].is_object()).collect();
    assert_eq!(own.len(), 2, "two kernels, not one: {own:?}");

    let record =
        lab.line(&format!("measure timer -D 100ms --no-save --json --target lab:{STOCK}+highres=off")).ends_with(0).record();
    assert_eq!(record.parts().lab.as_ref().unwrap().parameters, ["highres=off"]);
    assert!(
        record.parts().system.kernel.cmdline.split(' ').any(|w| w == "highres=off"),
        "{}",
        record.parts().system.kernel.cmdline
    );
    let side: Value = serde_json::from_str(&lab.line("compare test=timer --kernels --json").ends_with(0).out).unwrap();
    let place = &side["places"][0];
    assert_eq!(place["base"].get("parameters"), None);
    let off = &place["rows"][1];
    assert_eq!(
        (&off["kernel"]["parameters"], &off["runs"]["rows"][0]["word"]),
        (&serde_json::json!(["highres=off"]), &"worse".into())
    );

    for wrong in ["nonsense=1", "nonsense"] {
        let said = lab.line(&format!("measure timer -D 100ms --no-save --target lab:{STOCK}+{wrong}")).ends_with(2);
        assert!(said.err.contains(&format!("does not know the parameter `{wrong}`")), "{}", said.err);
    }
}
