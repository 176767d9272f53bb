; Judges histories of the chaos harness with Knossos, the linearizability checker of Jepsen.
;
;   java -cp CLASSPATH clojure.main chaos/judge/knossos.clj HISTORY...
;
; CLASSPATH has Clojure and Knossos. A HISTORY is a history.edn, or one that gzip compressed. Knossos looks at each key:
;
;   mutex         its own model, for names whose every holder excludes every other one
;   lock          the model Lock below, for every name: who may share, and the order of the tokens
;   cas-register  its own model, for registers: each cas finds the value that it expects
;
; A "trusting" register may lose updates: one that did is printed, but is no violation. Exit status: 0 no violation,
; 1 a violation, 2 not decided in time.

(require '[clojure.edn :as edn]
         '[clojure.java.io :as io]
         '[clojure.string :as str]
         '[knossos.history :as history]
         '[knossos.model :as model]
         '[knossos.wgl :as wgl])
(import '(java.io PushbackReader)
        '(java.util.logging Level Logger)
        '(java.util.zip GZIPInputStream)
        '(knossos.model Model))

(.setLevel (Logger/getLogger "") Level/WARNING)

(def time-limit 60000) ; of one key under one model, in milliseconds

(defn read-ops [file]
  (let [in (cond-> (io/input-stream file) (str/ends-with? file ".gz") GZIPInputStream.)]
    (with-open [r (PushbackReader. (io/reader in))]
      (vec (take-while some? (repeatedly #(edn/read {:eof nil} r)))))))

(defn sharing
  "What two holders must have in common to share a key; nil for one that shares it with no other."
  [{:keys [mode owner slots]}]
  (case mode
    :reader    :readers
    :reentrant [:owner owner]
    :semaphore [:slots slots]
    nil))

(defn slots [group] (when (and (vector? group) (= :slots (first group))) (second group)))

(defn slot-free?
  "Is a slot free for a permit? Two permits have one slot if their tokens leave the same remainder."
  [n token holders]
  (and (< (count holders) n)
       (not-any? (fn [[_ t]] (and t token (zero? (mod (- t token) n)))) (vals holders))))

(defn may-join? [group token holders]
  (and (every? (fn [[g _]] (and group (= group g))) (vals holders))
       (or (not (slots group)) (slot-free? (slots group) token holders))))

(defn token-grows?
  "Is token larger than those of every group that excludes this one? A reader's may be the same. Each permit of a
  semaphore has a token of its own."
  [group token largest]
  (every? (fn [[g t]]
            (cond (and g (= g group) (not (slots g))) true
                  (= group :readers) (<= t token)
                  :else (< t token)))
          largest))

(defrecord Lock [holders largest] ; process -> [group token], and group -> token
  Model
  (step [_ op]
    (let [{:keys [process group token]} (:value op)]
      (cond
        (= (:f op) :release)
        (if (contains? holders process)
          (Lock. (dissoc holders process) largest)
          (model/inconsistent "not held"))

        (not (may-join? group token holders))
        (model/inconsistent (str "held by " holders))

        (and token (not (token-grows? group token largest)))
        (model/inconsistent (str "token " token " after " largest))

        :else
        (Lock. (assoc holders process [group token])
               (cond-> largest token (update group (fnil max 0) token)))))))

(defn for-lock
  "The ops with all that Lock needs in their values. A process that acquires once more, after a downgrade, keeps its
  token: only the first counts."
  [ops]
  (second
    (reduce (fn [[seen out] {:keys [process type f value] :as op}]
              (let [acquired (and (= f :acquire) (= type :ok))
                    token    (when (and acquired (not (seen process))) value)]
                [(cond-> seen acquired (conj process))
                 (conj out (assoc op :value {:process process :group (sharing op) :token token}))]))
            [#{} []]
            ops)))

(defn models
  "The models of a key: a name, an initial state and the ops."
  [ops]
  (if (contains? #{:read :cas} (:f (first ops)))
    [["cas-register" (model/cas-register 0) ops]]
    (cond-> [["lock" (Lock. {} {}) (for-lock ops)]]
      (not-any? sharing ops) (conj ["mutex" (model/mutex) (map #(assoc % :value nil) ops)]))))

(defn judge [file]
  (for [[k ops] (sort-by key (group-by :key (read-ops file)))
        [named initial ops] (models ops)]
    (let [a (wgl/analysis initial (history/parse-ops (vec ops)) {:time-limit time-limit})]
      {:key k :model named :valid? (:valid? a) :op (:op a) :excused (str/starts-with? k "trusting/")})))

(defn -main [files]
  (let [verdicts (doall
                   (for [file files]
                     (let [vs (doall (judge file))]
                       (println (str file ":") (str/join ", " (for [[m of] (sort-by key (group-by :model vs))]
                                                               (str (count (filter :valid? of)) " of " (count of) " " m))))
                       (doseq [{:keys [key model valid? op]} vs :when (not (true? valid?))]
                         (println " " key "is not a" model (str "(" (if (false? valid?) (pr-str op) valid?) ")")))
                       vs)))
        counted  (remove :excused (apply concat verdicts))]
    (shutdown-agents)
    (System/exit (cond (some #(false? (:valid? %)) counted) 1
                       (every? #(true? (:valid? %)) counted) 0
                       :else 2))))

(-main *command-line-args*)
