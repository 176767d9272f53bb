; Judges histories of the chaos harness with Knossos, the linearizability checker of Jepsen.
;
;   java -cp CLASSPATH clojure.main chaos/judge/knossos.clj HISTORY...
;
; CLASSPATH has Clojure and Knossos. A HISTORY is a history.edn, or one that gzip compressed. The keys are judged one by
; one, with a model for each:
;
;   mutex         of Knossos, for names whose holders exclude each other
;   lock          the record Lock below, for every name: who may share it, and the order of the tokens
;   cas-register  of Knossos, for registers: each cas finds the value that it expects
;
; Prints how many keys of each history fit their models, and those that do not. A register "trusting/..." may lose
; updates, so it is printed, too, but is no violation. Exit status: 0 no violation, 1 a violation, 2 not decided.

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

(.setLevel (Logger/getLogger "") Level/WARNING) ; Knossos says how it searches

(def time-limit "For one key and one model, in milliseconds." 60000)

(defn read-ops [path]
  (let [in (cond-> (io/input-stream path) (str/ends-with? path ".gz") GZIPInputStream.)]
    (with-open [reader (PushbackReader. (io/reader in))]
      (vec (take-while some? (repeatedly #(edn/read {:eof nil} reader)))))))

;; The model of a lock

(defn group
  "What two holders must have in common to share a name; nil for a holder that shares it with no other."
  [{:keys [mode owner slots]}]
  (case mode
    :reader    [:readers]
    :reentrant [:owner owner]
    :semaphore [:slots slots]
    nil))

(defn slots-of [[kind n]] (when (= kind :slots) n))

(defn slot-free?
  "Does a semaphore have a slot for one more permit? Two permits have the same slot if their tokens leave the same
  remainder when divided by the number of slots."
  [n token holders]
  (and (< (count holders) n)
       (not-any? #(and token (:token %) (zero? (mod (- token (:token %)) n))) holders)))

(defn joins? [group token holders]
  (and (every? #(and group (= group (:group %))) holders)
       (or (nil? (slots-of group)) (slot-free? (slots-of group) token holders))))

(defn larger?
  "Is the token larger than those of all earlier holders that this one excludes? A reader's may be the same. Each permit
  of a semaphore has a token of its own."
  [group token largest]
  (every? (fn [[other t]]
            (or (and other (= other group) (nil? (slots-of group)))
                (< t token)
                (and (= t token) (= group [:readers]))))
          largest))

; holders has the value of the acquire for each process that holds the lock, largest the largest token of each group.
(defrecord Lock [holders largest]
  Model
  (step [_ op]
    (let [{:keys [process group token] :as value} (:value op)]
      (cond
        (and (= (:f op) :release) (holders process))
        (Lock. (dissoc holders process) largest)

        (= (:f op) :release)
        (model/inconsistent "not held")

        (not (joins? group token (vals holders)))
        (model/inconsistent (str "held by " (vals holders)))

        (and token (not (larger? group token largest)))
        (model/inconsistent (str "token " token " after " largest))

        :else
        (Lock. (assoc holders process value)
               (cond-> largest token (update group (fnil max 0) token)))))))

(defn for-lock
  "Returns ops with values as Lock needs them. A process that acquires once more, after a downgrade, keeps its token:
  only its first acquire has one."
  [ops]
  (let [first-ok (->> ops
                      (filter #(= [:acquire :ok] [(:f %) (:type %)]))
                      (reduce #(if (%1 (:process %2)) %1 (assoc %1 (:process %2) (:index %2))) {}))]
    (for [{:keys [process index value] :as op} ops]
      (assoc op :value {:process process :group (group op) :token (when (= index (first-ok process)) value)}))))

;; The judge

(defn models
  "Returns the models of a key, by name: each an initial state and the ops that it takes."
  [ops]
  (cond
    (#{:read :cas} (:f (first ops))) {"cas-register" [(model/cas-register 0) ops]}
    (some group ops)                 {"lock" [(Lock. {} {}) (for-lock ops)]}
    :else                            {"lock"  [(Lock. {} {}) (for-lock ops)]
                                      "mutex" [(model/mutex) (map #(assoc % :value nil) ops)]}))

(defn judge
  "Returns a verdict for each key of a history and each of its models."
  [path]
  (for [[key ops]           (sort-by key (group-by :key (read-ops path)))
        [named [initial of]] (models ops)]
    (let [{:keys [valid? op]} (wgl/analysis initial (history/parse-ops (vec of)) {:time-limit time-limit})]
      {:key key :model named :valid? valid? :op op :excused (str/starts-with? key "trusting/")})))

(defn describe [path verdicts]
  (println (str path ":")
           (str/join ", " (for [[named of] (sort-by key (group-by :model verdicts))]
                            (str (count (filter #(true? (:valid? %)) of)) " of " (count of) " " named))))
  (doseq [{:keys [key model valid? op]} verdicts :when (not (true? valid?))]
    (println " " key (if (false? valid?) (str "is no " model ": " (pr-str op)) (str "as a " model ": not decided")))))

(let [verdicts (doall (mapcat (fn [path] (doto (doall (judge path)) (->> (describe path)))) *command-line-args*))
      counted  (map :valid? (remove :excused verdicts))]
  (shutdown-agents)
  (System/exit (cond (some false? counted)        1
                     (not-every? true? counted)   2
                     :else                        0)))
